// Package sessions has the operations on the sessions of a workspace, and on the
// commands that run in them: Workspace.Sessions and Workspace.Runs of package
// workspace return them.
package sessions

import (
	"context"

	"github.com/agent-handoff/handoff/workspace/internal/parts"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/launch"
)

// Sessions are the sessions of a workspace, as its caller uses them.
type Sessions struct{ o parts.Sessions }

// New returns the sessions that o describes. Workspace.Sessions of package workspace
// calls it.
func New(o parts.Sessions) Sessions { return Sessions{o} }

// Runs are the commands that a caller runs in sessions of their own.
type Runs struct{ s Sessions }

// NewRuns returns the commands that the caller runs. Workspace.Runs of package workspace
// calls it.
func NewRuns(o parts.Sessions) Runs { return Runs{Sessions{o}} }

// recorder changes sessions on behalf of the caller.
func (s Sessions) recorder() *session.Sessions { return s.o.Sessions.As(s.o.Producer) }

// launcher opens sessions on behalf of the caller.
func (s Sessions) launcher() launch.Launcher {
	return launch.Launcher{
		Dirs: s.o.Dirs, Settings: s.o.Settings, Sessions: s.recorder(), Now: s.o.Now, Rand: s.o.Rand,
		Dir: s.o.Dir, WorkID: s.o.Producer.WorkID, Artifact: s.o.Resolve,
	}
}

// Open opens a session: it creates the folder, records the session and
// renders its manifest. With a parent it opens a run of that session. The folder
// is {session_folder}, which must be inside {agent_outputs_folder} and inside the
// workspace. Each of Links is a ref to a session, or to an artifact that one
// published.
//
// Kinds: Invalid, Conflict (the ID exists), NotFound (the parent, a link or a
// file), Unavailable.
func (s Sessions) Open(ctx context.Context, o OpenOptions) (Opened, error) {
	if err := s.o.Hub.Closed(); err != nil {
		return Opened{}, err
	}
	opened, err := s.launcher().Open(ctx, o)
	if err == nil {
		opened.Warnings = append(opened.Warnings, s.o.Finish(ctx, "")...)
	}
	return opened, err
}

// Folder returns the folder of a session that was opened, absolute.
func (s Sessions) Folder(of handoff.Session) string { return s.o.Folder(of) }

// Dir returns the directory of a session or run, absolute: its folder if it was
// opened, otherwise the folder that a session with this ID would have.
func (s Sessions) Dir(ctx context.Context, id string) string {
	_, _ = s.o.Hub.Newest(ctx) // brings the index up to the log; without it the folder is the default
	return s.o.FolderByID(ctx, id)
}

// OpenOptions describe a session or run to open.
type OpenOptions = launch.Options

// An Opened is a session that was opened, with what an engine needs to
// work in it.
type Opened = launch.Opened

// A Thread is one that an agent program had in a session.
type Thread = session.Conversation

// A Detail is a session with its names, status and outputs.
type Detail = session.Detail
