// Package sessions has the operations on the sessions of a workspace, which
// Workspace.Sessions of package workspace returns.
package sessions

import (
	"context"
	"path/filepath"

	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
)

// Sessions are the sessions of a workspace, as its caller uses them.
type Sessions struct {
	c   *core.Core
	all *lifecycle.Sessions // whose records name nobody
}

// New returns the sessions of a workspace. Workspace.Sessions of package workspace calls it.
func New(c *core.Core, all *lifecycle.Sessions) Sessions { return Sessions{c, all} }

// recorder changes sessions on behalf of the caller.
func (s Sessions) recorder() *lifecycle.Sessions { return s.all.As(s.c.Producer) }

// Folder returns the folder of a session that was opened, absolute.
func (s Sessions) Folder(of handoff.Session) string { return s.c.Folder(of) }

// Dir returns the directory of a session or run, absolute: its folder if it was
// opened, otherwise the folder that a session with this ID would have.
func (s Sessions) Dir(ctx context.Context, id string) string { return s.c.CurrentFolder(ctx, id) }

// outputs returns {agent_outputs_folder}, relative to the directory that the folders of
// sessions are in.
func (s Sessions) outputs() (string, error) {
	e, err := s.Explain("agent_outputs_folder", session.VariableOptions{})
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(s.c.Dirs.Home(), e.Value)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil
	}
	return filepath.ToSlash(rel), nil
}
