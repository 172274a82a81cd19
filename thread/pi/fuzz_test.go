package pi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// FuzzSession reads any bytes as a session: it must come to an end without an
// error, number messages without a gap and count nothing below zero.
func FuzzSession(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	files, err := filepath.Glob(filepath.Join(dir, ".pi/agent/sessions/*/*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"type":"session","id":"a","parentSession":"a_b","timestamp":"2026-01-01T00:00:00Z","childIds":[1]}{"type":"message","id":"x","parentId":"x","message":{"role":"assistant","usage":{"input":-5,"output":9e99,"reasoning":1e400}}}`))
	f.Add([]byte("{\"type\":\"label\",\"id\":\"a\",\"parentId\":\"b\"}\n{\"type\":\"label\",\"id\":\"b\",\"parentId\":\"a\",\"details\":{\"sessionFile\":\"/\"}}"))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, home, project+named("2026-05-24T23:39:56Z", treeID), string(b))
		p := provider(t, home)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if th, err = p.Thread(t.Context(), th.ID); err != nil {
				t.Fatal(err)
			}
			n := 0
			err = th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
				if m.N > 0 {
					n++
				}
				if m.N > 0 && m.N != n {
					t.Errorf("message %d has number %d", n, m.N)
				}
				return nil
			})
			if err != nil || n != th.Messages || th.State.Status == "" || th.Usage.Completeness == "" {
				t.Errorf("got %d messages, %v, %+v", n, err, th.Facts)
			}
			if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning < 0 {
				t.Errorf("got usage %+v", u)
			}
			if _, err := p.Agents(t.Context(), th); err != nil {
				t.Error(err)
			}
		}
	})
}
