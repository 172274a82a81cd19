package outcome_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/outcome"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
)

var (
	now   = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	alive = handoff.Process{BootID: "b", PIDNamespace: "n", PID: 1}
	gone  = handoff.Process{BootID: "b", PIDNamespace: "n", PID: 2}
	other = handoff.Process{BootID: "another machine", PIDNamespace: "n", PID: 3}
)

func observer(state thread.State) outcome.Observer {
	return outcome.Observer{Now: now,
		Observer: lifecycle.Observer{BootID: "b", PIDNamespace: "n",
			Alive: func(p handoff.Process) bool { return p == alive }},
		Thread: func(uri string) (thread.State, time.Time, bool) {
			return state, state.At, uri != "" && state.Status != ""
		},
		Session: func(id string) (handoff.Session, bool) {
			return map[string]handoff.Session{"closed": {Status: session.Completed}, "open": {Status: handoff.Running},
				"lost": {Status: session.Failed, Reason: handoff.ProcessGone}}[id], true
		}}
}

// TestWork concludes the status of a session and of its last prompt.
func TestWork(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	at := func(s thread.Status, d time.Duration) thread.State { return thread.State{Status: s, At: ago(d)} }
	lost := "process gone"
	for _, tt := range []struct {
		name            string
		process         handoff.Process
		started         time.Duration
		ended           time.Duration // of the session, 0 for none
		in              string
		state           thread.State
		session, prompt string
		why             string // of the prompt
	}{
		{"it works", alive, time.Hour, 0, "", at(thread.Running, time.Hour), "running", "running", ""},
		{"the turn ended", alive, time.Minute, 0, "", at(thread.Completed, 0), "running", "completed", ""},
		{"a turn before ended", alive, time.Minute, 0, "", at(thread.Completed, time.Hour), "running", "running", ""},
		{"status 400", alive, time.Minute, 0, "", at(thread.Errored, 0), "running", "failed",
			"the thread shows an error or an interruption"},
		{"status 400, and the program ended", gone, time.Minute, 0, "", at(thread.Errored, 0), "failed", "failed",
			"the thread shows an error or an interruption"},
		{"killed", gone, time.Minute, 0, "", at(thread.Shutdown, time.Minute), "failed", "failed", lost},
		{"killed, no transcript", gone, time.Minute, 0, "", thread.State{}, "failed", "failed", lost},
		{"the program ended after the turn", gone, time.Minute, 0, "", at(thread.Completed, 0), "completed", "completed", ""},
		{"not known", other, time.Minute, 0, "", at(thread.Running, time.Minute), "running", "running", ""},
		{"silent", other, 45 * time.Minute, 0, "", at(thread.Shutdown, 40*time.Minute), "stalled", "stalled",
			"last seen 40 min ago"},
		{"silent, no transcript", other, 45 * time.Minute, 0, "", thread.State{}, "stalled", "stalled",
			"last seen 45 min ago"},
		{"its session ended", other, time.Minute, time.Second, "", thread.State{}, "ended", "failed", "its session ended"},
		{"resumed after the end", other, time.Minute, time.Hour, "", thread.State{}, "running", "running", ""},
		{"its run ended", other, time.Minute, 0, "closed", thread.State{}, "failed", "failed", "its session ended"},
		{"its run was killed", other, time.Minute, 0, "lost", thread.State{}, "failed", "failed", lost},
		{"its run goes on", other, time.Minute, 0, "open", thread.State{}, "running", "running", ""},
	} {
		s := handoff.Work{Harness: "h", ID: "s", Kind: "session", Thread: "t", StartedAt: ago(tt.started), Started: 1,
			RunID: tt.in}
		if tt.ended != 0 {
			s.Ended, s.EndedAt, s.Status = 9, ago(tt.ended), "ended"
		}
		p := handoff.Work{Harness: "h", ID: "p", Parent: "s", Kind: "prompt", Thread: "t", StartedAt: ago(tt.started),
			Started: 2, Process: tt.process, ProcessRecord: "r", RunID: tt.in}
		if tt.state.Status == "" {
			s.Thread, p.Thread = "", ""
		}
		list := observer(tt.state).Work([]handoff.Work{s, p})
		if list[0].Status != tt.session || list[1].Status != tt.prompt || list[1].Reason != tt.why {
			t.Errorf("%s: got %s (%s), %s (%s), want %s, %s (%s)", tt.name, list[0].Status, list[0].Reason, list[1].Status,
				list[1].Reason, tt.session, tt.prompt, tt.why)
		}
	}
}

// TestFollowed has prompts without an end, of which the last one works.
func TestFollowed(t *testing.T) {
	list := observer(thread.State{}).Work([]handoff.Work{
		{Harness: "h", ID: "a", Parent: "s", Kind: "prompt", StartedAt: now, Started: 1},
		{Harness: "h", ID: "b", Parent: "s", Kind: "prompt", StartedAt: now, Started: 2},
		{Harness: "h", ID: "c", Kind: "tool", StartedAt: now.Add(-time.Hour), Started: 3},
	})
	for i, want := range []string{"failed", "running", "stalled"} {
		if list[i].Status != want {
			t.Errorf("%s: got %s (%s), want %s", list[i].ID, list[i].Status, list[i].Reason, want)
		}
	}
}

// TestSilence compares the limits of sessions and threads, which are of packages that
// do not know each other.
func TestSilence(t *testing.T) {
	if lifecycle.StalledAfter != thread.SilentAfter {
		t.Errorf("a session is stalled after %s, a thread after %s", lifecycle.StalledAfter, thread.SilentAfter)
	}
}
