package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/codex"
)

var suite = threadtest.Suite{Driver: codex.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T) { threadtest.Run(t, suite) }

func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

// FuzzRollout reads any bytes as a rollout.
func FuzzRollout(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	f.Add(
		[]byte(
			`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":-5,"x":1e400},"last_token_usage":{"input_tokens":9e99}}}}`))
	f.Add([]byte(`{"type":"session_meta","payload":{"id":"a","history_base":{"thread_id":"` + parentID +
		`","end_byte_offset":-1},"forked_from_id":"` + parentID + `"}}`))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, home, "sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl", string(b))
		threadtest.CheckThread(t, threadtest.Open(t, codex.Driver(), home), parentID)
	})
}
