package workspace_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// TestPrograms has six programs that were killed, failed or wait, one that runs and one that has
// ended: within a minute, each is in its group of news and only there.
func TestPrograms(t *testing.T) {
	self := lifecycle.ProcessOf(os.Getpid())
	if self == (handoff.Process{}) {
		t.Skip("this system does not identify processes")
	}
	gone := self
	gone.StartTime = "1"
	h := newHooks(t)
	start := time.Now()
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, h.home)
	want := map[string]string{}
	transcript := func(program string, n int, process handoff.Process, group, lines string) {
		id := fmt.Sprintf("019c871c-b1f9-7f60-9c4f-87ed09f1359%d", n)
		file := filepath.Join(h.home, ".codex/sessions/2026/02/23/rollout-2026-02-23T06-54-42-"+id+".jsonl")
		if program == "claude" {
			file = filepath.Join(h.home, ".claude/projects/p", id+".jsonl")
		}
		cwd := filepath.Join(h.dir, fmt.Sprint("d", n)) // another thread in it would settle this one
		err := os.MkdirAll(cwd, 0o755)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o755)
		}
		if err == nil {
			lines = strings.NewReplacer("ID", id, "CWD", cwd, "AT", start.UTC().Format(time.RFC3339)).Replace(lines)
			err = os.WriteFile(file, []byte(lines), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, payload := range []string{`{"hook_event_name":"SessionStart","session_id":%q,"cwd":%q}`,
			`{"hook_event_name":"UserPromptSubmit","session_id":%q,"cwd":%q,"turn_id":"t"}`} {
			e, ok := workspace.ParseHook(program, "", fmt.Appendf(nil, payload, id, h.dir), func(string) string { return "" })
			e.Process = process
			if err := h.w.Hook(t.Context(), e, set, unsaid); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		want["agents://"+program+"/"+id] = group
	}
	const head = `{"timestamp":"AT","type":"session_meta","payload":{"id":"ID","cwd":"CWD"}}
{"timestamp":"AT","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}
`
	transcript("codex", 1, gone, "needs process_gone", head)
	transcript("codex", 2, gone, "needs session_failed", head+
		`{"timestamp":"AT","type":"event_msg","payload":{"type":"task_complete","turn_id":"t","error":{"message":"no quota"}}}
`)
	transcript("codex", 3, self, "needs waiting_for_person", head+
		`{"timestamp":"AT","type":"response_item","payload":{"type":"function_call","name":"request_user_input","call_id":"c",`+
		`"arguments":"{}"}}
`)
	transcript("claude", 4, self, "needs waiting_for_person",
		`{"type":"user","uuid":"u","sessionId":"ID","timestamp":"AT","cwd":"CWD","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"ID","timestamp":"AT","cwd":"CWD","message":{"id":"m",`+
			`"role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"ExitPlanMode","input":{}}]}}
`)
	transcript("codex", 5, self, "running", head)
	transcript("codex", 6, self, "done", head+
		`{"timestamp":"AT","type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"Done."}}
`)
	opened, err := h.w.Sessions().Open(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"},
		Workflow: handoff.SessionWorkflow{Name: "x"}})
	if err == nil {
		_, err = h.w.Sessions().Close(t.Context(), opened.ID, session.Failed, "no disk")
	}
	if err != nil {
		t.Fatal(err)
	}
	want[opened.ID] = "needs session_failed"
	const killed = "00000001-0000-4000-8000-000000000000"
	if _, _, err := h.w.Hub().Record(t.Context(), &handoff.SessionOpened{SessionID: killed, Process: gone,
		Folder: "docs/agent-outputs/" + killed, Agent: handoff.SessionAgent{Name: "bo"},
		Workflow: handoff.SessionWorkflow{Name: "x"}}); err != nil {
		t.Fatal(err)
	}
	want[killed] = "needs process_gone"

	w, err := workspace.Open(h.dir, workspace.Options{Now: func() time.Time { return start.Add(time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := w.News(set).Report(t.Context(), news.ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range r.Done {
		got[d.Session+d.Thread] = "done"
	}
	for _, t := range r.Running.Threads {
		got[t.URI] = "running"
	}
	for _, s := range r.Running.Sessions {
		got[s.ID] = "running"
	}
	for _, n := range r.Needs { // what waits runs, and what failed has ended, too
		got[n.Ref] = "needs " + string(n.Notice.Code)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
