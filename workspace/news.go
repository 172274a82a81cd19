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
	return news.New(w.c, w.sessions, news.Options{
		Threads: w.Threads(set), Work: w.Work(set), Pipelines: w.Pipelines(), Store: w.Store(),
		Attribute: func(ctx context.Context, list []handoff.Artifact) { w.attribute(ctx, set, list...) },
		Unrecorded: func(ctx context.Context, since time.Time) ([]handoff.Artifact, error) {
			return w.unrecorded(ctx, set, since)
		},
		Mains: func(ctx context.Context, uris []string) (map[string]string, error) { return w.mains(ctx, set, uris) },
	})
}
