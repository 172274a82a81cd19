package workspace_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/runs"
)

// TestMembershipByDescent checks whether a tool call and a hook are in a session that the
// environment names: only if they descend from its process, where that can be known.
func TestMembershipByDescent(t *testing.T) {
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	elsewhere := runs.ThisProcess()
	elsewhere.BootID = "another machine"
	if elsewhere.PID == 0 {
		t.Skip("processes can't be identified on this system")
	}
	above, beside := runs.ProcessOf(os.Getppid()), runs.ProcessOf(other.Process.Pid)
	for name, tt := range map[string]struct {
		process, child handoff.Process
		run            handoff.Process // of a run in the session, if there is one
		in             bool
	}{
		"no process":                  {in: true},
		"this process":                {process: runs.ThisProcess(), in: true},
		"a process above":             {process: above, in: true},
		"a child above":               {process: beside, child: above, in: true},
		"another process":             {process: beside},
		"a run above":                 {run: above, in: true},
		"a run of another process":    {run: beside},
		"a process of another system": {process: elsewhere, in: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooks(t)
			hub := h.w.Hub()
			_, _, err := hub.Record(t.Context(), &handoff.SessionOpened{SessionID: "ses_run", Process: tt.process})
			must(t, err)
			_, _, err = hub.Record(t.Context(), &handoff.SessionNoted{SessionID: "ses_run", Child: tt.child})
			must(t, err)
			if tt.run.PID != 0 {
				_, _, err = hub.Record(t.Context(), &handoff.SessionOpened{SessionID: "run_1", Parent: "ses_run", Process: tt.run})
				must(t, err)
			}
			h.env = map[string]string{"HANDOFF_SESSION": "ses_run", "HANDOFF_RUN": "run_1", "HANDOFF_AGENT": "ada"}
			getenv := func(name string) string { return h.env[name] }
			c := h.w.ToolCaller(t.Context(), h.dir, getenv, "codex-mcp-client",
				map[string]any{"threadId": "t2", "callId": "c1"})
			want := handoff.Producer{Session: "t2"}
			if tt.in {
				want = handoff.Producer{Session: "ses_run", RunID: "run_1", Agent: "ada"}
			}
			if p := c.Producer; p.Session != want.Session || p.RunID != want.RunID || p.Agent != want.Agent ||
				p.Thread != "agents://codex/t2" {
				t.Errorf("a tool call is in session %q, run %q, as agent %q, want %+v", p.Session, p.RunID, p.Agent, want)
			}
			c = h.w.ToolCaller(t.Context(), h.dir, getenv, "a-client", nil)
			if p := c.Producer; (p.Session == "ses_run") != tt.in || (p.RunID == "run_1") != tt.in {
				t.Errorf("a tool call without a thread is in session %q, run %q, want in it %t", p.Session, p.RunID, tt.in)
			}
			h.pass("claude", "SessionStart", `{"session_id":"c3","cwd":"DIR"}`)
			if w := h.work("claude-code", "c3"); (w.SessionID == "ses_run") != tt.in || (w.RunID == "run_1") != tt.in {
				t.Errorf("a hook is in session %q, run %q, want in it %t", w.SessionID, w.RunID, tt.in)
			}
		})
	}
}
