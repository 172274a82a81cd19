package all_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// TestUnknownRecords has a transcript without a known record for each provider whose
// transcripts are files: it has a warning.
func TestUnknownRecords(t *testing.T) {
	const id = "cccccccc-0000-4000-8000-000000000001"
	files := map[string]struct{ id, path string }{
		"amp":         {"T-" + id, ".local/share/amp/threads/T-" + id + ".json"},
		"antigravity": {id, ".gemini/antigravity-cli/brain/" + id + "/.system_generated/logs/transcript.jsonl"},
		"claude":      {id, ".claude/projects/-r/" + id + ".jsonl"},
		"cline":       {"1700000000000", ".cline/data/tasks/1700000000000/ui_messages.json"},
		"codex":       {id, ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-" + id + ".jsonl"},
		"copilot":     {id, ".copilot/session-state/" + id + "/events.jsonl"},
		"cursor":      {id, ".cursor/projects/p/agent-transcripts/" + id + ".jsonl"},
		"droid":       {id, ".factory/sessions/p/" + id + ".jsonl"},
		"gemini":      {id, ".gemini/tmp/p/chats/session-2026-08-01T10-00-cccccccc.json"},
		"goose":       {"20251202_1", ".local/share/goose/sessions/20251202_1.jsonl"},
		"iflow":       {"session-" + id, ".iflow/projects/-r/session-" + id + ".jsonl"},
		"kimi":        {"session_" + id, ".kimi-code/sessions/w/session_" + id + "/agents/main/wire.jsonl"},
		"kiro":        {id, ".kiro/sessions/cli/" + id + ".jsonl"},
		"pi":          {id, ".pi/agent/sessions/--r--/2026-08-01T10-00-00-000Z_" + id + ".jsonl"},
		"qwen":        {id, ".qwen/projects/p/chats/" + id + ".jsonl"},
	}
	databases := map[string]bool{"crush": true, "hermes": true, "kilo": true, "opencode": true}
	for _, d := range all.Drivers() {
		f, ok := files[d.Name]
		if ok == databases[d.Name] {
			t.Errorf("%s is in both tables, or in none", d.Name)
		}
		if !ok {
			continue
		}
		for _, content := range []string{`{"kind":"nothing","version":3,"requests":[]}`, `{"type":"x","id":1}`} {
			home := t.TempDir()
			threadtest.WriteFile(t, content+"\n", home, f.path)
			p := threadtest.Open(t, d, home)
			find := f.id
			if d.Name == "gemini" { // the ID is in the content
				for th, err := range p.Threads(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					find = th.ID
				}
			}
			th := threadtest.Load(t, p, find)
			if th.State.Status != thread.PendingInit || len(th.Warnings) == 0 {
				t.Errorf("%s: %s: got %s, warnings %q, want %s and a warning", d.Name, content, th.State.Status, th.Warnings,
					thread.PendingInit)
			}
		}
	}
}
