package gemini_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// FuzzChat reads any bytes as a log and as a document: it must come to an end
// without an error, number messages without a gap and count nothing below zero.
func FuzzChat(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	files, err := filepath.Glob(filepath.Join(dir, ".gemini/tmp/*/chats/*.json*"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, filepath.Ext(path) == ".json")
	}
	f.Add([]byte(`{"$set":{"messages":[{"type":"user","content":"a"},{"id":"x","type":"gemini","tokens":{"input":-5,"cached":9e99,"output":1e400}}]}}{"$rewindTo":"x"}`), false)
	f.Add([]byte(`{"messages":[{"id":"x","type":"user"},{"id":"x","type":"gemini","toolCalls":[{"agentId":"a"},{"agentId":"a","result":[[[{}]]]}]}],"sessionId":""`), true)
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, document bool) {
		name := "p/chats/session-2026-06-12T10-00-" + logID[:8] + ".json"
		os.Remove(filepath.Join(home, ".gemini/tmp", name))
		os.Remove(filepath.Join(home, ".gemini/tmp", name+"l"))
		if !document {
			name += "l"
		}
		put(t, home, name, string(b))
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
			if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.Output < 0 || u.Reasoning < 0 {
				t.Errorf("got usage %+v", u)
			}
			if _, err := p.Agents(t.Context(), th); err != nil {
				t.Error(err)
			}
		}
	})
}
