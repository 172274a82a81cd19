package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// FuzzTranscript reads any bytes as a session and as a subagent of it: both must
// come to an end without an error, number messages without a gap and count
// nothing below zero.
func FuzzTranscript(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	seeds := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".jsonl" {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			seeds++
			f.Add(b)
		}
		return err
	})
	if err != nil || seeds == 0 {
		f.Fatal("no seeds", err)
	}
	f.Add([]byte(`{"type":"assistant","message":{"id":"m","usage":{"input_tokens":-5,"output_tokens":9e99,"cache_creation":{"ephemeral_1h_input_tokens":7}}}}`))
	f.Add([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Agent","input":{"resume":"` + mainID + `"}}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"agentId: fuzz"}]}}`))
	root := f.TempDir()
	paths := []string{
		filepath.Join(root, ".claude", project, mainID+".jsonl"),
		filepath.Join(root, ".claude", project, mainID, "subagents", "agent-fuzz.jsonl"),
	}
	if err := os.MkdirAll(filepath.Dir(paths[1]), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, path := range paths {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := claude.Driver()
		p, err := d.Open(d.Roots(func(string) string { return "" }, root))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{mainID, "fuzz"} {
			whole(t, p, id)
		}
	})
}

func whole(t *testing.T, p thread.Provider, id string) {
	t.Helper()
	th, err := p.Thread(t.Context(), id)
	if err != nil {
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
	if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.CacheWrite1h < 0 || u.Output < 0 || u.Reasoning < 0 {
		t.Errorf("got usage %+v", u)
	}
	agents, err := p.Agents(t.Context(), th)
	for _, a := range agents {
		if a.State.Status == "" || a.ID == "" {
			t.Errorf("got agent %+v", a)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
