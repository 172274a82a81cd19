package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// Reviews returns the operations on reviews and comments of artifacts.
func (w *Workspace) Reviews() reviews.Reviews {
	return reviews.New(reviews.Options{Hub: w.c.Hub, Bodies: w.c.Bodies, Resolve: w.Resolve, Finish: w.c.Finish,
		Now: w.c.Now, Dir: w.c.Dir,
		Origin: w.c.RuntimeDir.Origin, Remote: w.c.Remote, Home: w.c.Dirs.Home(), State: w.c.State,
		From: w.c.Settings.ReviewFrom, UserHome: w.c.UserHome,
		Candidates: w.candidates,
		Attribute:  func(ctx context.Context, list []handoff.Artifact) { w.attribute(ctx, w.threads, list...) },
		Gated:      func(ctx context.Context) ([]string, error) { return pipelines.Unapproved(ctx, w.Pipelines()) },
		Redacted:   func(ctx context.Context) ([]handoff.Digest, error) { return w.c.Index.RedactedBodies(ctx) }})
}
