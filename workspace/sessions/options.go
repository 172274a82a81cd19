// Package sessions has the operations on the sessions of a workspace, which
// Workspace.Sessions of package workspace returns.
package sessions

import (
	"context"
	"path/filepath"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/internal/parts"

	"github.com/agent-handoff/handoff"
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
func (s Sessions) Open(ctx context.Context, o session.OpenOptions) (session.Opened, error) {
	if err := s.o.Hub.Closed(); err != nil {
		return session.Opened{}, err
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

// outputs returns {agent_outputs_folder}, relative to the directory that the folders of
// sessions are in.
func (s Sessions) outputs() (string, error) {
	e, err := s.o.Launcher().Explain("agent_outputs_folder", session.VariableOptions{})
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(s.o.Dirs.Home(), e.Value)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil
	}
	return filepath.ToSlash(rel), nil
}
