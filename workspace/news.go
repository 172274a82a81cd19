package workspace

import (
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/news"
)

// News returns what needs a person, what was done and what runs, with the threads of a set.
func (w *Workspace) News(set *thread.Set) news.Source {
	return news.New(w.c, w.sessions, w.attribution(set), news.Options{
		Threads: w.Threads(set), Work: w.Work(set), Pipelines: w.Pipelines(), Store: w.Store(),
	})
}
