package workspace

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
)

// StartRun opens the session of a command that the caller is about to start and
// wait for. If parent is the ID of a recorded session or run, it opens a run of
// that session; a parent that is not recorded causes a warning. Start the
// command with the variables in Env, record it with RecordChild, and close the
// session with EndRun.
//
// Kinds: those of OpenSession.
func (w *Workspace) StartRun(ctx context.Context, parent string, o SessionOptions) (OpenedSession, error) {
	var warnings []string
	switch {
	case parent == "":
	case w.isSession(ctx, parent):
		o.Parent = parent
	default:
		warnings = append(warnings, "session "+parent+" is not recorded here; opened a session of its own")
	}
	o.Process = ThisProcess()
	opened, err := w.OpenSession(ctx, o)
	opened.Warnings = append(warnings, opened.Warnings...)
	return opened, err
}

// RecordChild records which process works in a session. Where the system does
// not identify processes, or if this one has ended, nothing is recorded.
func (w *Workspace) RecordChild(ctx context.Context, id string, pid int) ([]string, error) {
	p := ProcessOf(pid)
	if p == (handoff.Process{}) {
		return nil, nil
	}
	return w.sessions.As(w.caller.Producer).Note(ctx, handoff.SessionNoted{SessionID: id, Child: p})
}

// A Receipt lists what a run made.
type Receipt struct {
	ID        string             `json:"id"`
	Parent    string             `json:"parent,omitempty"` // the session that it is a run of
	Status    string             `json:"status"`
	Reason    string             `json:"reason,omitempty"`
	StartedAt time.Time          `json:"startedAt"`
	EndedAt   time.Time          `json:"endedAt"`
	Artifacts []handoff.Artifact `json:"artifacts"` // the active ones, oldest first
	Expected  []Expected         `json:"expected,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
}

// An Expected is an output that a run was expected to make.
type Expected struct {
	Name      string       `json:"name"`
	Delivered bool         `json:"delivered"`
	Hint      handoff.Hint `json:"-"` // how to deliver it
}

// Delivered reports whether every expected output was delivered.
func (r Receipt) Delivered() bool {
	for _, e := range r.Expected {
		if !e.Delivered {
			return false
		}
	}
	return true
}

// EndRun closes the session of a run and returns what it made. An expected name
// is delivered by an active artifact that is not empty: a name that was written,
// a file in the session's folder, or a path in the workspace. The receipt is
// valid also if the session could not be closed.
//
// Kinds: Invalid, NotFound, and those of Log.Append.
func (w *Workspace) EndRun(ctx context.Context, id, status, reason string, expected []string) (Receipt, error) {
	sessions := w.sessions.As(w.caller.Producer)
	s, artifacts, err := sessions.Read(ctx, id)
	if err != nil {
		_, closing := w.CloseSession(ctx, id, status, reason)
		return Receipt{}, errors.Join(err, closing)
	}
	r := Receipt{ID: id, Parent: s.Parent, Status: status, Reason: reason, StartedAt: s.OpenedAt, EndedAt: w.now(), Artifacts: []handoff.Artifact{}}
	for i := len(artifacts) - 1; i >= 0; i-- {
		if artifacts[i].Status == handoff.Active {
			r.Artifacts = append(r.Artifacts, artifacts[i])
		}
	}
	top, err := sessions.Top(ctx, s)
	if err != nil {
		return r, err
	}
	for _, name := range expected {
		e := Expected{Name: name, Delivered: session.Delivered(s, r.Artifacts, name)}
		if !e.Delivered {
			e.Hint = session.DeliverHint(s, top, w.Folder(s), w.caller.Dir, name)
		}
		r.Expected = append(r.Expected, e)
	}
	change, err := w.CloseSession(ctx, id, status, reason)
	r.Warnings = change.Warnings
	return r, err
}

// ProcessOf identifies the process with the given ID among all others. It returns
// the zero value if there is none or the system does not support that.
func ProcessOf(pid int) handoff.Process { return session.ProcessOf(pid) }

// ThisProcess is ProcessOf for this process.
func ThisProcess() handoff.Process { return ProcessOf(os.Getpid()) }
