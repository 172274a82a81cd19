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
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// manySessions have 200,000 records.
const manySessions = 16_700

// BenchmarkPages measures pages of a workspace of 200,000 records: the processor time is that of
// the page, of what it reads beside it, and of an artifact that is published before it.
func BenchmarkPages(b *testing.B) {
	dir := b.TempDir()
	ids, sessions := manyRecords(b, dir, time.Now().Add(-manySessions*logtest.SessionTime), manySessions)
	s := siteIn(b, dir)
	s.get("/channels") // fills the index
	last := len(sessions) - 1
	for _, c := range []struct{ name, path string }{
		{"now", "/"}, {"sessions", "/sessions"}, {"sessions-agent", "/sessions?agent=alex"},
		{"session", "/sessions/" + sessions[last/2]}, {"artifact", "/artifacts/" + ids[len(ids)/2]},
		{"artifacts", "/artifacts"},
		{"artifacts-agent", "/artifacts?agent=alex"}, {"channels", "/channels"}, {"channel", "/channels/design"},
		{"graph", "/graph?focus=" + ids[len(ids)/2]}, {"pipelines", "/pipelines"},
		{"search", "/search?q=" + sessions[last/3][:8]},
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

// manyRecords writes a log of sessions, and returns the IDs of their artifacts and of them.
func manyRecords(b testing.TB, dir string, start time.Time, sessions int) (ids, opened []string) {
	runtime := filepath.Join(dir, ".handoff")
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, rand.NewChaCha8([32]byte{5})).Create())
	n := 0
	for r := range logtest.Sessions(b, start, sessions) {
		n++
		text, err := r.JSON()
		must(b, err)
		name := filepath.Join(runtime, "log", fmt.Sprintf("%08d", (n-1)/4096), fmt.Sprintf("%012d.json", n))
		if n%4096 == 1 {
			must(b, os.MkdirAll(filepath.Dir(name), 0o700))
		}
		must(b, os.WriteFile(name, text, 0o444))
		switch f := r.Fact.(type) {
		case *handoff.SessionOpened:
			opened = append(opened, f.SessionID)
		case *handoff.ArtifactPublished:
			ids = append(ids, r.ID)
		}
	}
	return ids, opened
}
