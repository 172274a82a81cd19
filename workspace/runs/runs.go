// Package runs has the operations on commands that run in sessions of their own, which
// Workspace.Runs of package workspace returns.
package runs

import (
	"cmp"
	"context"
	"iter"

	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
)

// Runs are the commands that a caller runs.
type Runs struct {
	c   *core.Core
	all *lifecycle.Sessions // whose records name nobody
}

// New returns the commands that the caller runs. Workspace.Runs of package workspace
// calls it.
func New(c *core.Core, all *lifecycle.Sessions) Runs { return Runs{c, all} }

func (r Runs) recorder() *lifecycle.Sessions { return r.all.As(r.c.Producer) }

// Start opens the session of a command that the caller is about to start and
// wait for. If the caller works in a recorded session or run, or o.Parent names
// one, it opens a run of that; a session that is not recorded causes a warning.
// Start the command with the variables in Env, record it with RecordChild, and
// close the session with End.
//
// Kinds: those of Open.
func (r Runs) Start(ctx context.Context, o session.OpenOptions) (session.Opened, error) {
	var warnings []string
	if parent := cmp.Or(o.Parent, r.c.Within); parent != "" {
		o.Parent = parent
		if !r.c.IsSession(ctx, parent) {
			o.Parent = ""
			warnings = append(warnings, "session "+parent+" is not recorded here; opened a session of its own")
		}
	}
	o.Process = ThisProcess()
	opened, err := sessions.New(r.c, r.all).Open(ctx, o)
	opened.Warnings = append(warnings, opened.Warnings...)
	return opened, err
}

// RecordChild records which process works in a session. Where the system does
// not identify processes, or if this one has ended, nothing is recorded.
func (r Runs) RecordChild(ctx context.Context, id string, pid int) ([]string, error) {
	p := ProcessOf(pid)
	if p == (handoff.Process{}) {
		return nil, nil
	}
	return r.recorder().Note(ctx, handoff.SessionNoted{SessionID: id, Child: p})
}

// End closes the session of a run by how its command ended, and returns what
// it made. An output that session.OpenOptions.Expected names is delivered by an active
// artifact that is not empty: a name that was written, a file in the session's
// folder, or a path in the workspace. The receipt is valid also with an error, and
// says whether the end is recorded.
//
// Kinds: NotFound, and those of Log.Append.
func (r Runs) End(ctx context.Context, id string, exit session.Exit) (session.Receipt, error) {
	receipt, err := r.recorder().End(ctx, id, exit, r.c.Dir)
	receipt.Warnings = append(receipt.Warnings, r.c.Finish(ctx, "")...)
	r.c.SendQueued(ctx)
	return receipt, err
}

// ProcessOf identifies the process with the given ID among all others. It returns
// the zero value if there is none or the system does not support that.
func ProcessOf(pid int) handoff.Process { return lifecycle.ProcessOf(pid) }

// HarnessProcess identifies the nearest process of a harness that this process
// descends from. It returns the zero value if there is none.
func HarnessProcess(harness string, getenv func(string) string) handoff.Process {
	if pid := config.NearestProcess(harness, getenv, config.Ancestors()); pid != 0 {
		return ProcessOf(pid)
	}
	return handoff.Process{}
}

// ThisProcess is ProcessOf for this process.
func ThisProcess() handoff.Process { return lifecycle.ThisProcess() }

// Published yields what a session or run, and the runs inside it, published after
// a position in the log, oldest first, without what the index adds; 0 is the
// start of the session. It ends when ctx ends, or with the newest record if
// present is true.
//
// Kinds: NotFound, those of reading the log, and the error of ctx.
func (r Runs) Published(ctx context.Context, id string, after handoff.Seq,
	present bool) iter.Seq2[handoff.Artifact, error] {
	return r.all.Published(ctx, id, after, present)
}
