package lifecycle_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
)

// TestCloseAbandonedLosesRace closes a session while another process is about
// to close it as abandoned: only the first close is recorded.
func TestCloseAbandonedLosesRace(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	random := rand.NewChaCha8([32]byte{})
	log := filelog.Open(dir+"/.handoff", random)
	hub := handoff.New(log, logtest.NewReference(), log.Bodies(), handoff.Options{Now: time.Now, Rand: random})
	sessions := lifecycle.New(hub, lifecycle.Options{Files: root, Root: dir, Now: time.Now, Rand: random})
	process := handoff.Process{BootID: "boot", PIDNamespace: "pid", PID: 1}
	for _, close := range []bool{true, false} {
		s, _, err := sessions.Open(t.Context(), lifecycle.Opening{Folder: "session", Process: process,
			Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "w"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.Note(t.Context(), handoff.SessionNoted{SessionID: s.ID, Child: process}); err != nil {
			t.Fatal(err)
		}
		// The session is closed after CloseAbandoned has listed it.
		alive := func(handoff.Process) bool {
			if close {
				close = false
				if _, err := sessions.Close(t.Context(), s.ID, session.Completed, "", time.Time{}); err != nil {
					t.Error(err)
				}
			}
			return false
		}
		wantStatus, wantReason := session.Failed, handoff.ProcessGone
		if close {
			wantStatus, wantReason = session.Completed, ""
		}
		if _, err := sessions.CloseAbandoned(t.Context(),
			lifecycle.Observer{BootID: "boot", PIDNamespace: "pid", Alive: alive}); err != nil {
			t.Fatal(err)
		}
		closes := 0
		for _, r := range logtest.Collect(t, log, 0) {
			if f, ok := r.Fact.(*handoff.SessionClosed); ok && f.SessionID == s.ID {
				closes++
			}
		}
		if s, err := hub.Session(t.Context(), s.ID); err != nil || closes != 1 || s.Status != wantStatus ||
			s.Reason != wantReason {
			t.Errorf("session is %s %q with %d closes, %v, want %s %q with 1", s.Status, s.Reason, closes, err, wantStatus,
				wantReason)
		}
	}
}
