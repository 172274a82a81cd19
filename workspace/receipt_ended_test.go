package workspace_test

import (
	"os"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
)

// TestReceiptOfKilledProgram checks that work without an end has the same status in
// receipts as elsewhere: failed, once its process is gone.
func TestReceiptOfKilledProgram(t *testing.T) {
	gone := lifecycle.ProcessOf(os.Getpid())
	if gone == (handoff.Process{}) {
		t.Skip("this system does not identify processes")
	}
	gone.StartTime = "1"
	d := newDesk(t)
	opened, err := d.Runs().Start(t.Context(), session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "build"}})
	if err != nil {
		t.Fatal(err)
	}
	w := d.As(workspace.Caller{Dir: d.dir, Producer: handoff.Producer{Harness: "codex", Session: opened.ID, WorkID: "w1"}})
	if _, _, err := w.Hub().As(handoff.Producer{Harness: "codex"}).Record(t.Context(), &handoff.WorkStarted{WorkID: "w1",
		Kind: "prompt", SessionID: opened.ID, StartedAt: time.Now(), Process: gone}); err != nil {
		t.Fatal(err)
	}
	d.file("a.md", "a\n")
	done, err := w.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"})
	if err != nil {
		t.Fatal(err)
	}
	for name, receipt := range map[string]func() (trace.Receipt, error){
		"session":  func() (trace.Receipt, error) { return w.Work(nil).OfSession(t.Context(), opened.ID) },
		"artifact": func() (trace.Receipt, error) { return w.Work(nil).OfArtifact(t.Context(), done.Artifact) },
	} {
		r, err := receipt()
		if err != nil || len(r.Tasks) != 1 || r.Tasks[0].Status != session.Failed {
			t.Errorf("%s: got %+v, %v, want one task that failed", name, r.Tasks, err)
		}
	}
}
