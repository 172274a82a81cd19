package news

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/store"
)

// TestLogNeeds has records that are queued, then also one that the log refused: a watch
// prints both.
func TestLogNeeds(t *testing.T) {
	var r Report
	Source{}.queueNeeds(&r, store.LogStatus{Queued: make([]storage.QueuedRecord, 2), Refused: make([]storage.Refusal, 1)})
	if len(r.Needs) != 2 || r.Needs[0].key() == r.Needs[1].key() {
		t.Errorf("got %+v, want two needs with keys of their own", r.Needs)
	}
}

// TestSessionWithThread has a session that its records show as silent, and that runs in what
// is active.
func TestSessionWithThread(t *testing.T) {
	v := session.View{Session: handoff.Session{ID: "s", Status: lifecycle.Stalled, OpenedAt: time.Now()}}
	lifecycle.SetNotices(&v, nil)
	for status, want := range map[string]int{lifecycle.Stalled: 1, handoff.Running: 0} {
		r := Report{Until: time.Now()}
		active := v
		active.Status = status
		r.Running.Sessions = []trace.ActiveSession{{View: active}}
		if err := (Source{}).sessionNeeds(t.Context(), &r, []found{{View: v}}); err != nil || len(r.Needs) != want {
			t.Errorf("of a session that is %s: got %v, %v, want %d", status, r.Needs, err, want)
		}
	}
}

// TestFailed has a session that completed with a reason, which is no failure.
func TestFailed(t *testing.T) {
	for d, want := range map[*Done]bool{
		{Outcome: session.Completed, Reason: "all tests pass"}: false, {Outcome: session.Completed}: false,
		{Outcome: session.Failed}: true, {Outcome: session.Cancelled}: false, {Outcome: "errored"}: true,
		{Outcome: session.Cancelled, Reason: "no access"}: true,
	} {
		if got := d.Failed(); got != want {
			t.Errorf("%+v: got %v, want %v", *d, got, want)
		}
	}
}
