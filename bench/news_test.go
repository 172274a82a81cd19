package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// BenchmarkNews compares the processor time of handoff news about 10,000 records of the
// last days, and 100 threads, with that of hello-world: with the index of threads, and
// without any index. It also measures the report alone.
func BenchmarkNews(b *testing.B) {
	dir := fresh(b)
	weekend(b, dir, 10_000)
	b.Run("process", func(b *testing.B) {
		program, hello := programs(b)
		command := []string{program, "news"}
		must(b, os.RemoveAll(filepath.Join(dir, ".handoff/index.db")))
		took := process(b, dir, command)
		compareProcesses(b, dir, 1, command, []string{hello})
		b.ReportMetric(float64(took.Milliseconds()), "ms-cpu-cold")
	})
	b.Run("report", func(b *testing.B) {
		getenv := func(name string) string { return map[string]string{"HOME": dir}[name] }
		w, err := workspace.Open(dir, workspace.Options{Getenv: getenv, Now: time.Now})
		must(b, err)
		defer w.Close()
		source := w.News(thread.NewSet(all.Drivers(), getenv, dir))
		for b.Loop() {
			r, err := source.Report(b.Context(), news.ReportOptions{})
			must(b, err)
			if len(r.Done) < 400 || len(r.Needs) < 100 {
				b.Fatalf("%d done, %d need somebody", len(r.Done), len(r.Needs))
			}
		}
	})
}

// weekend writes a workspace with about n records of the last two days: sessions with work,
// artifacts that replace others, and commands, some of which failed; and threads of Codex.
func weekend(b *testing.B, dir string, n int) {
	runtime, random := filepath.Join(dir, ".handoff"), rand.NewChaCha8([32]byte{5})
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, random).Create())
	start, seq := time.Now().Add(-48*time.Hour), 0
	var producer handoff.Producer
	add := func(f handoff.Fact) string {
		r, err := handoff.NewRecord(start.Add(time.Duration(seq)*48*time.Hour/time.Duration(n)), random, producer, f)
		must(b, err)
		seq++
		must(b, store(runtime, seq, r))
		return r.ID
	}
	for i := 0; seq < n; i++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		producer = handoff.Producer{Harness: "codex", Session: id, WorkID: id, Agent: fmt.Sprint("builder-", i%5),
			Thread: "agents://codex/" + id, Source: handoff.FromHarness}
		if i%5 == 0 {
			rollouts := filepath.Join(dir, ".codex/sessions/2026/11/20")
			must(b, os.MkdirAll(rollouts, 0o755))
			write(b, filepath.Join(rollouts, "rollout-2026-11-20T09-00-00-"+id+".jsonl"), turn(id, dir, start))
		}
		add(&handoff.SessionOpened{SessionID: id, Title: "A task", Folder: "docs/agent-outputs/" + id,
			Agent: handoff.SessionAgent{Name: producer.Agent}, Workflow: handoff.SessionWorkflow{Name: fmt.Sprint("build-", i)}})
		var before string
		for k := range 9 {
			size := int64(1000)
			p := &handoff.ArtifactPublished{Channel: "patch", Kind: "patch", Path: fmt.Sprintf("docs/%s/%d.diff", id, k%5),
				TargetType: "file", Title: "A patch", MediaType: "text/x-diff", SizeBytes: &size}
			switch {
			case k%3 == 1:
				p.Replaces = []string{before}
			case k%3 == 2:
				p.Parents = []string{before}
			}
			work := fmt.Sprintf("%s-%d", id, k)
			if k%2 == 0 {
				add(&handoff.WorkStarted{WorkID: work, Kind: "prompt", Thread: producer.Thread, SessionID: id})
			}
			before = add(p)
			if k%2 == 0 {
				add(&handoff.WorkEnded{WorkID: work, Status: "completed"})
			}
		}
		add(&handoff.SessionClosed{SessionID: id, Status: []string{"completed", "completed", "completed", "failed"}[i%4]})
	}
}

// turn returns the transcript of a thread of Codex with one turn.
func turn(id, dir string, at time.Time) string {
	var lines strings.Builder
	add := func(text string, args ...any) {
		at = at.Add(time.Second)
		fmt.Fprintf(&lines, `{"timestamp":"%s",`+text+"}\n", append([]any{at.UTC().Format(time.RFC3339)}, args...)...)
	}
	add(`"type":"session_meta","payload":{"id":"%s","cwd":"%s","cli_version":"0.150.0"}`, id, dir)
	add(`"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}`)
	add(`"type":"turn_context","payload":{"model":"gpt-5"}`)
	add(`"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1000,` +
		`"output_tokens":100},"total_token_usage":{"input_tokens":1000,"output_tokens":100}}}`)
	add(`"type":"event_msg","payload":{"type":"task_complete","turn_id":"t"}`)
	return lines.String()
}
