package workspace

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// Reviews returns the operations on reviews and comments of artifacts.
func (w *Workspace) Reviews() reviews.Reviews {
	return reviews.New(reviews.Options{Hub: w.as, Bodies: w.bodies, Resolve: w.Resolve, Finish: w.finish,
		Now: w.now, Dir: w.caller.Dir,
		Origin: w.runtimeDir.Origin, Remote: w.remote, Home: w.dirs.Home(), State: w.state,
		From: w.settings.ReviewFrom, UserHome: w.userHome,
		Candidates: w.candidates,
		Attribute:  func(ctx context.Context, list []handoff.Artifact) { w.attribute(ctx, w.threads, list...) },
		Gated:      func(ctx context.Context) ([]string, error) { return pipelines.Unapproved(ctx, w.Pipelines()) },
		Redacted:   func(ctx context.Context) ([]handoff.Digest, error) { return w.index.RedactedBodies(ctx) }})
}
