package workspace

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/news"
)

// News returns what needs a person, what was done and what runs, with the threads of a set.
func (w *Workspace) News(set *thread.Set) news.Source {
	outlaster, _ := w.c.Log.(handoff.Outlaster)
	return news.New(news.Options{
		NoMessages: w.c.Remote && !w.c.Settings.SharesThreads(),
		Outlaster:  outlaster, Hub: w.c.Anonymous, Threads: w.Threads(set), Work: w.Work(set), Pipelines: w.Pipelines(),
		Store: w.Store(), Dir: w.c.Dirs.Root, Home: w.c.Dirs.Home(), Branch: w.c.Dirs.Branch(), State: w.c.State, Now: w.c.Now,
		Attribute: func(ctx context.Context, list []handoff.Artifact) { w.attribute(ctx, set, list...) },
		Unrecorded: func(ctx context.Context, since time.Time) ([]handoff.Artifact, error) {
			return w.unrecorded(ctx, set, since)
		},
		Mains: func(ctx context.Context, uris []string) (map[string]string, error) { return w.mains(ctx, set, uris) },
		Resolve: func(ctx context.Context, ref string) (handoff.Artifact, error) {
			id, err := w.Resolve(ctx, ref)
			if err != nil {
				return handoff.Artifact{}, err
			}
			return w.c.Anonymous.Artifact(ctx, id)
		},
	}, w.sessions)
}
