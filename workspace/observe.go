package workspace

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/outcome"
	"github.com/agent-handoff/handoff/thread"
)

// observed returns set with the states of its threads as observer concludes them, nil for
// nil.
func observed(w *Workspace, set *thread.Set) *thread.Set {
	if set == nil {
		return nil
	}
	return set.Observed(observer(w))
}

// observer concludes the states of threads as they are now: from the processes that hooks
// and runs recorded and that are on this machine, and the time since each was last seen.
func observer(w *Workspace) thread.Observer {
	o := lifecycle.ThisObserver()
	return thread.Observer{Now: w.c.Now, Process: func(u thread.URI, seen time.Time) thread.Presence {
		harness, _ := config.ProgramOf(u.Provider)
		return outcome.Process(context.Background(), w.c.Anonymous, o, harness, u.Thread, seen)
	}}
}
