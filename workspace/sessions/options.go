// Package sessions has the operations on the sessions of a workspace, which
// Workspace.Sessions of package workspace returns.
package sessions

import (
	"context"
	"path/filepath"

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
	opened, err := s.o.Launcher().Open(ctx, o)
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

// outputs returns {agent_outputs_folder}, relative to the directory that the folders of
// sessions are in.
func (s Sessions) outputs() (string, error) {
	e, err := s.o.Launcher().Explain("agent_outputs_folder", launch.VariableOptions{})
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(s.o.Dirs.Home(), e.Value)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil
	}
	return filepath.ToSlash(rel), nil
}
