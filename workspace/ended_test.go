package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// TestKilledProgram has a program whose hooks named its process, and whose transcript has
// an open turn: its thread and work are running while the process exists.
func TestKilledProgram(t *testing.T) {
	self := lifecycle.ProcessOf(os.Getpid())
	if self == (handoff.Process{}) {
		t.Skip("this system does not identify processes")
	}
	gone := self
	gone.StartTime = "1"
	for name, c := range map[string]struct {
		process              handoff.Process
		age                  time.Duration
		status, why, session string
		notice               handoff.NoticeCode
	}{
		"lives":         {self, 0, "running", "", "running", ""},
		"lives, silent": {self, 2 * time.Hour, "running", "", "running", ""},
		"was killed":    {gone, 0, "shutdown", "process gone", "failed", handoff.NoticeProcessGone},
		"is not known":  {handoff.Process{}, 0, "running", "", "running", ""},
		"not seen lately": {handoff.Process{}, 2 * time.Hour, "shutdown", "last seen 120 min ago", "running", // by its hooks
			handoff.NoticeSilent},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooks(t)
			const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"
			at := time.Now().Add(-c.age).UTC().Format(time.RFC3339)
			file := filepath.Join(h.home, ".codex/sessions/2026/02/23/rollout-2026-02-23T06-54-42-"+id+".jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, fmt.Appendf(nil, `{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"cwd":%q}}
{"timestamp":%q,"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}
`, at, id, h.dir, at), 0o644); err != nil {
				t.Fatal(err)
			}
			set := thread.NewSet(all.Drivers(), func(string) string { return "" }, h.home)
			for _, payload := range []string{`{"hook_event_name":"SessionStart","session_id":%q,"cwd":%q}`,
				`{"hook_event_name":"UserPromptSubmit","session_id":%q,"cwd":%q,"turn_id":"t"}`} {
				e, ok := workspace.ParseHook("codex", "", fmt.Appendf(nil, payload, id, h.dir), func(string) string { return "" })
				e.Process = c.process
				if err := h.w.Hook(t.Context(), e, set, unsaid); err != nil || !ok {
					t.Fatal(ok, err)
				}
			}
			page, err := h.w.Threads(set).List(t.Context(), threads.ListOptions{Status: thread.Status(c.status)})
			if err != nil || len(page.Threads) != 1 || page.Threads[0].State.Reason != c.why {
				t.Fatalf("got %+v, %v, want one that is %s (%s)", page.Threads, err, c.status, c.why)
			}
			var want []handoff.NoticeCode
			if c.notice != "" {
				want = []handoff.NoticeCode{c.notice}
			}
			if got := handoff.Codes(page.Threads[0].Notices); !slices.Equal(got, want) {
				t.Errorf("the notices are %q, want %q", got, want)
			}
			v, err := h.w.Threads(set).Set().Open(t.Context(), thread.URI{Provider: "codex", Thread: id})
			if err != nil || v.Thread.Load(t.Context()) != nil || string(v.Thread.State.Status) != c.status {
				t.Errorf("opened: got %+v, %v, want %s", v.Thread.State, err, c.status)
			}
			tree, err := h.w.Work(set).Tree(t.Context(), "")
			if err != nil || len(tree.Work) != 1 || len(tree.Work[0].Children) != 1 {
				t.Fatalf("work: got %+v, %v", tree.Work, err)
			}
			for _, w := range []handoff.Work{tree.Work[0].Work, tree.Work[0].Children[0].Work} {
				if w.Status != c.session {
					t.Errorf("%s: got %s (%s), want %s", w.Kind, w.Status, w.Reason, c.session)
				}
			}
		})
	}
}

// TestEndAlone passes the end of a session that did not start, as "claude mcp list" does.
func TestEndAlone(t *testing.T) {
	h := newHooks(t)
	h.pass("claude", "", `{"hook_event_name":"SessionEnd","session_id":"s","cwd":"DIR"}`)
	if work, err := h.w.Hub().WorkIn(t.Context(), ""); err != nil || len(work) > 0 {
		t.Errorf("recorded %+v, %v, want nothing", work, err)
	}
}
