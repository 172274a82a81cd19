package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/trace/activity"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// An ActiveSession is a session or run that was not closed.
type ActiveSession = activity.Session

// An Activity is what is going on in a workspace.
type Activity = activity.Activity

// Activity returns the sessions of the workspace that were not closed, at most so many
// of one status, and the threads with the sessions that they belong to.
//
// A session is running while its process is, and stalled if it shows no activity
// for long.
func (w *Workspace) Activity(ctx context.Context, threads []threads.Running, most int) (Activity, error) {
	f := activity.Finder{Reader: w.hub, Sessions: w.sessions, Observer: session.ThisObserver(), Now: w.now()}
	return f.Find(ctx, threads, most)
}

// maxActive is the number of sessions of one status that Now describes.
const maxActive = 100

// Now is Activity with the running threads of this repository that the tools of a set
// keep. A thread is as its transcript ends; those that were not active for a week are
// left out.
func (w *Workspace) Now(ctx context.Context, set *thread.Set) (Activity, error) {
	threads, warnings, err := w.Threads(set).Running(ctx)
	if err != nil {
		return Activity{Sessions: []ActiveSession{}, Threads: threads}, err
	}
	a, err := w.Activity(ctx, threads, maxActive)
	a.Warnings = append(warnings, a.Warnings...)
	return a, err
}
