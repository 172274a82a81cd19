package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	sessiontypes "github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// BenchmarkSessionFind compares processes that find a session among 10,000 with
// three filters, and hello-world, alternately.
func BenchmarkSessionFind(b *testing.B) {
	const sessions = 10_000
	dir := fresh(b)
	runtime := filepath.Join(dir, ".handoff")
	random := rand.NewChaCha8([32]byte{4})
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, random).Create())
	start, n := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 0
	add := func(id string, f handoff.Fact) {
		n++
		r, err := handoff.NewRecord(start.Add(time.Duration(n)*time.Second), random,
			handoff.Producer{Harness: "codex", Session: id, WorkID: id}, f)
		must(b, err)
		must(b, store(runtime, n, r))
	}
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		add(id, &handoff.SessionOpened{SessionID: id, Title: "Intake of a request", Folder: "docs/agent-outputs/" + id,
			User:  "pat",
			Agent: handoff.SessionAgent{Name: []string{"alex", "casey", "sam"}[i%3], Bundle: "analysis"},
			Workflow: handoff.SessionWorkflow{Name: fmt.Sprintf("%s-%d", []string{"intake", "deep-dive"}[i%2], i%40),
				Description: "What is asked for"}})
		size := int64(1000)
		add(id, &handoff.ArtifactPublished{Channel: "analysis", Kind: "document",
			Path: "docs/agent-outputs/" + id + "/analysis.md", TargetType: "file",
			Title: "Analysis", MediaType: "text/markdown", SizeBytes: &size})
		if i%4 > 0 {
			add(id, &handoff.SessionClosed{SessionID: id, Status: []string{"completed", "failed"}[i%8/4]})
		}
	}
	program, hello := programs(b)
	run(b, dir, program, "list") // creates the index
	find := func(args ...string) []string { return append([]string{"session", "find", "--agent", "casey"}, args...) }
	for name, args := range map[string][]string{
		"find": find("--workflow", "^deep-dive-", "--status", "completed"),
		"none": find("--workflow", "^deep-dive-", "--status", "cancelled"),
		"type": find("--status", "completed", "--output-type", "document"),
	} {
		b.Run(name, func(b *testing.B) { against(b, hello, dir, program, args...) })
	}
}

// BenchmarkOutputs adds 10,000 outputs to a session in one process. It reports the time of all, of
// the last 100 compared with the first 100, and of a copy of the last manifest.
func BenchmarkOutputs(b *testing.B) {
	const outputs = 10_000
	for b.Loop() {
		dir := fresh(b)
		w, err := workspace.Open(dir, workspace.Options{Getenv: func(string) string { return "" }})
		must(b, err)
		opened, err := w.Sessions().Open(b.Context(), sessiontypes.OpenOptions{
			Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "intake"}})
		must(b, err)
		var took [outputs]time.Duration
		for i := range took {
			file := filepath.Join(opened.Folder, fmt.Sprintf("%05d.md", i))
			must(b, os.WriteFile(file, []byte(strconv.Itoa(i)), 0o644))
			took[i] = timed(func() {
				_, err := w.Sessions().AddOutput(b.Context(), opened.ID, sessions.Output{File: filepath.Base(file), Type: "report"})
				must(b, err)
			})
		}
		manifest, err := os.ReadFile(filepath.Join(opened.Folder, "manifest.json"))
		must(b, err)
		copied := timed(func() { must(b, os.WriteFile(filepath.Join(opened.Folder, "copy"), manifest, 0o644)) })
		must(b, w.Close())
		sum := func(list []time.Duration) (all time.Duration) {
			for _, d := range list {
				all += d
			}
			return all
		}
		b.ReportMetric(sum(took[:]).Seconds(), "s")
		b.ReportMetric(float64(sum(took[:100]).Microseconds())/1e5, "first-ms")
		b.ReportMetric(float64(sum(took[outputs-100:]).Microseconds())/1e5, "last-ms")
		b.ReportMetric(float64(copied.Microseconds())/1e3, "copy-ms")
	}
}
