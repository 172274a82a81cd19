package workspace

import (
	"cmp"
	"context"
	"iter"
	"os"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/launch"
	"github.com/agent-handoff/handoff/workspace/work"
)

// StartRun opens the session of a command that the caller is about to start and
// wait for. If the caller works in a recorded session or run, or o.Parent names
// one, it opens a run of that; a session that is not recorded causes a warning.
// Start the command with the variables in Env, record it with RecordChild, and
// close the session with EndRun.
//
// Kinds: those of OpenSession.
func (w *Workspace) StartRun(ctx context.Context, o SessionOptions) (OpenedSession, error) {
	var warnings []string
	if parent := cmp.Or(o.Parent, w.caller.Within); parent != "" {
		o.Parent = parent
		if !w.isSession(ctx, parent) {
			o.Parent = ""
			warnings = append(warnings, "session "+parent+" is not recorded here; opened a session of its own")
		}
	}
	o.Process = ThisProcess()
	opened, err := w.OpenSession(ctx, o)
	opened.Warnings = append(warnings, opened.Warnings...)
	return opened, err
}

// VariablePrefix is what the names of the variables in OpenedSession.Env start
// with that have the variables of a workflow and its bundle.
const VariablePrefix = launch.VariablePrefix

// RecordChild records which process works in a session. Where the system does
// not identify processes, or if this one has ended, nothing is recorded.
func (w *Workspace) RecordChild(ctx context.Context, id string, pid int) ([]string, error) {
	p := ProcessOf(pid)
	if p == (handoff.Process{}) {
		return nil, nil
	}
	return w.sessions.As(w.caller.Producer).Note(ctx, handoff.SessionNoted{SessionID: id, Child: p})
}

// A Receipt lists what a run made, and how it ended.
type Receipt = session.Receipt

// A RunReport is a Receipt with the work in the run.
type RunReport struct {
	Receipt
	Work *work.Receipt `json:"work,omitempty"` // nil if none is known
}

// An Expected is an output that a session should leave.
type Expected = session.Expected

// An Exit is how the command of a run ended.
type Exit = session.Exit

// EndRun closes the session of a run by how its command ended, and returns what
// it made. An output that SessionOptions.Expected names is delivered by an active
// artifact that is not empty: a name that was written, a file in the session's
// folder, or a path in the workspace. The receipt is valid also with an error, and
// says whether the end is recorded.
//
// Kinds: NotFound, and those of Log.Append.
func (w *Workspace) EndRun(ctx context.Context, id string, exit Exit) (Receipt, error) {
	r, err := w.sessions.As(w.caller.Producer).End(ctx, id, exit, w.caller.Dir)
	r.Warnings = append(r.Warnings, w.finish(ctx, "")...)
	w.sendAtEnd(ctx)
	return r, err
}

// ProcessOf identifies the process with the given ID among all others. It returns
// the zero value if there is none or the system does not support that.
func ProcessOf(pid int) handoff.Process { return session.ProcessOf(pid) }

// HarnessProcess identifies the nearest process of a harness that this process
// descends from. It returns the zero value if there is none.
func HarnessProcess(harness string, getenv func(string) string) handoff.Process {
	if pid := config.NearestProcess(harness, getenv, config.Ancestors()); pid != 0 {
		return ProcessOf(pid)
	}
	return handoff.Process{}
}

// ThisProcess is ProcessOf for this process.
func ThisProcess() handoff.Process { return ProcessOf(os.Getpid()) }

// Published yields what a session or run, and the runs inside it, published after
// a position in the log, oldest first, without what the index adds; 0 is the
// start of the session. It ends when ctx ends, or with the newest record if
// present is true.
//
// Kinds: NotFound, those of reading the log, and the error of ctx.
func (w *Workspace) Published(ctx context.Context, id string, after handoff.Seq,
	present bool) iter.Seq2[handoff.Artifact, error] {
	return w.sessions.Published(ctx, id, after, present)
}
