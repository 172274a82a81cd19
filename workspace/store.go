package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/store"
)

// Store returns what the workspace stores, to check and repair it, to remove what is not
// needed, and to send what is queued.
func (w *Workspace) Store() store.Store { return store.New(w.c, w.Sessions(), rendered{w}) }

// rendered are the files of names and stages.
type rendered struct{ w *Workspace }

func (r rendered) Stale(ctx context.Context, a handoff.Artifact, render bool) (bool, error) {
	return r.w.stale(ctx, a, render)
}
