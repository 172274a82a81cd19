package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// Reviews returns the operations on reviews and comments of artifacts.
func (w *Workspace) Reviews() reviews.Reviews {
	return reviews.New(w.c, w.attribution(w.threads), reviews.Options{
		Candidates: w.candidates,
		Gated:      func(ctx context.Context) ([]string, error) { return pipelines.Unapproved(ctx, w.Pipelines()) },
	})
}
