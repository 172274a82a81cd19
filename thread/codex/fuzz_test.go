package codex_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// FuzzRollout reads any bytes as a rollout: it must come to an end without an
// error, number messages without a gap and count nothing below zero.
func FuzzRollout(f *testing.F) {
	const name = ".codex/sessions/2026/02/22/rollout-2026-02-22T20-48-50-" + parentID + ".jsonl"
	dir := f.TempDir()
	home(f, dir)
	files, err := filepath.Glob(filepath.Join(dir, ".codex/sessions/*/*/*/*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.ReplaceAll(b, []byte("be good. "), nil))
	}
	f.Add([]byte(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":-5,"x":1e400},"last_token_usage":{"input_tokens":9e99}}}}`))
	f.Add([]byte(`{"type":"session_meta","payload":{"id":"a","history_base":{"thread_id":"` + parentID + `","end_byte_offset":-1},"forked_from_id":"` + parentID + `"}}`))
	home := f.TempDir()
	path := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d := codex.Driver()
		p, err := d.Open(d.Roots(func(string) string { return "" }, home))
		if err != nil {
			t.Fatal(err)
		}
		th, err := p.Thread(t.Context(), parentID)
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
		if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning < 0 {
			t.Errorf("got usage %+v", u)
		}
		if _, err := p.Agents(t.Context(), th); err != nil {
			t.Error(err)
		}
	})
}
