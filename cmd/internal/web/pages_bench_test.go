package web_test

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
)

// BenchmarkPages measures pages of a workspace of 200,000 records: the processor time is that of
// the page, of what it reads beside it, and of an artifact that is published before it.
func BenchmarkPages(b *testing.B) {
	dir := b.TempDir()
	ids, sessions := manyRecords(b, dir, 16_700)
	s := siteIn(b, dir)
	s.get("/channels") // fills the index
	last := len(sessions) - 1
	for _, c := range []struct{ name, path string }{
		{"now", "/"}, {"sessions", "/sessions"}, {"sessions-agent", "/sessions?agent=alex"},
		{"session", "/sessions/" + sessions[last/2]}, {"artifact", "/artifacts/" + ids[len(ids)/2]},
		{"artifacts", "/artifacts"},
		{"artifacts-agent", "/artifacts?agent=alex"}, {"channels", "/channels"}, {"channel", "/channels/design"},
		{"graph", "/graph?focus=" + ids[len(ids)/2]}, {"pipelines", "/pipelines"},
	} {
		b.Run(c.name, func(b *testing.B) { s.measure(b, c.path) })
		b.Run(c.name+"-publishing", func(b *testing.B) {
			n := 0
			s.before = func() {
				n++
				s.publish(handoff.Draft{Body: strings.NewReader(fmt.Sprint("body ", n)), Channel: "design",
					Title: "Published meanwhile"})
			}
			defer func() { s.before = nil }()
			s.measure(b, c.path)
		})
	}
}

// manyRecords writes a log of sessions with ten artifacts each, and returns the IDs of both.
func manyRecords(b testing.TB, dir string, sessions int) (ids, opened []string) {
	runtime := filepath.Join(dir, ".handoff")
	random := rand.NewChaCha8([32]byte{5})
	must(b, filelog.Open(runtime, random).Create())
	start, n := time.Now().Add(-30*24*time.Hour).Truncate(24*time.Hour), 0
	add := func(id, agent string, f handoff.Fact) string {
		n++
		r, err := handoff.NewRecord(start.Add(time.Duration(n)*12*time.Second), random,
			handoff.Producer{Harness: "codex", Agent: agent, Session: id, WorkID: id, Source: handoff.FromFlag}, f)
		must(b, err)
		text, err := r.JSON()
		must(b, err)
		name := filepath.Join(runtime, "log", fmt.Sprintf("%08d", (n-1)/4096), fmt.Sprintf("%012d.json", n))
		if n%4096 == 1 {
			must(b, os.MkdirAll(filepath.Dir(name), 0o700))
		}
		must(b, os.WriteFile(name, text, 0o444))
		return r.ID
	}
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		agent := []string{"alex", "casey", "sam"}[i%3]
		add(id, agent, &handoff.SessionOpened{SessionID: id, Folder: "docs/agent-outputs/" + id, User: "pat",
			Agent: handoff.SessionAgent{Name: agent}, Workflow: handoff.SessionWorkflow{Name: fmt.Sprintf("intake-%d", i%40)}})
		opened = append(opened, id)
		for j := range 10 {
			size := int64(1000)
			p := &handoff.ArtifactPublished{Channel: []string{"analysis", "design", "patch", "verification"}[j%4],
				Kind: "document", Path: fmt.Sprintf("docs/agent-outputs/%s/%d.md", id, j),
				TargetType: "file", Title: "An analysis of what is asked for", Summary: strings.Repeat("word ", 20),
				MediaType: "text/markdown", SizeBytes: &size}
			if j%4 == 3 {
				p.Replaces = ids[len(ids)-3 : len(ids)-2]
			}
			if j%2 == 1 {
				p.Parents = ids[len(ids)-1:]
			}
			ids = append(ids, add(id, agent, p))
		}
		if i < sessions-20 {
			add(id, agent, &handoff.SessionClosed{SessionID: id, Status: "completed"})
		}
	}
	return ids, opened
}
