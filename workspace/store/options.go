// Package store has the operations on what a workspace stores: checking and repairing
// it, removing what is not needed, and the queue of its log. Workspace.Store of package
// workspace returns them.
package store

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// A Store is what a workspace stores.
type Store struct {
	c        *core.Core
	sessions sessions.Sessions
	files    Files
}

// Files are the files of names and stages.
type Files interface {
	// Stale reports whether the file of an artifact was not rendered, and with render renders it.
	Stale(ctx context.Context, a handoff.Artifact, render bool) (bool, error)
}

// New returns what a workspace stores. Workspace.Store of package workspace calls it.
func New(c *core.Core, s sessions.Sessions, f Files) Store { return Store{c, s, f} }

// Create creates the runtime directory, if it does not exist. Every operation that
// records something does so, too.
func (s Store) Create(ctx context.Context) error {
	if err := s.c.Anonymous.Closed(); err != nil {
		return err
	}
	return s.c.RuntimeDir.Create(ctx)
}

// Created reports whether the open workspace has created the runtime directory.
func (s Store) Created() bool { return s.c.RuntimeDir.Created() }

// Writable returns an error of kind Unsupported if a later version wrote the runtime
// directory, in which this version must not write.
func (s Store) Writable() error {
	if err := s.c.Anonymous.Closed(); err != nil {
		return err
	}
	return s.c.RuntimeDir.Writable()
}

// Runtime returns the runtime directory, absolute. It may not exist yet.
func (s Store) Runtime() string { return s.c.Dirs.Runtime }

// Tidy completes the work of processes that were killed: it closes their sessions and
// renders manifests that are out of date. Operations that record something call it; a
// long-running process that records nothing should call it now and then.
func (s Store) Tidy(ctx context.Context) ([]string, error) { return s.c.Tidy(ctx) }
