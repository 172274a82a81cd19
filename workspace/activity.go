package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/internal/activity"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/thread"
)

// An Activity is what is going on in a workspace.
type Activity = activity.Activity

// An ActiveSession is a session or run that was not closed.
type ActiveSession = activity.Session

// An ActiveThread is a conversation that has not ended its turn, by its transcript:
// it works, waits for a person, or was killed.
type ActiveThread = activity.Thread

// activeSince is how long ago a running conversation was last active at most. Programs
// that are killed leave theirs running.
const activeSince = "7d"

// maxActive is the number of sessions of one status that Activity describes.
const maxActive = 100

// Activity returns the sessions of the workspace that were not closed, and the
// running conversations of this repository that the tools of set keep.
//
// A session is running while its process is, and stalled if it shows no activity
// for long. A conversation is as its transcript ends; those that were not active for a
// week are left out.
func (w *Workspace) Activity(ctx context.Context, set *thread.Set) (Activity, error) {
	threads, warnings, err := w.ActiveThreads(ctx, set)
	if err != nil {
		return Activity{Sessions: []ActiveSession{}, Threads: threads}, err
	}
	a, err := w.ActiveSessions(ctx, threads, maxActive)
	a.Warnings = append(warnings, a.Warnings...)
	return a, err
}

// ActiveThreads is the part of Activity that reads transcripts, which can take long.
// The warnings are about those that can't be read.
func (w *Workspace) ActiveThreads(ctx context.Context, set *thread.Set) (list []ActiveThread, warnings []string, err error) {
	list = []ActiveThread{}
	running, err := w.Threads(ctx, set, ThreadOptions{Status: thread.Running, Since: activeSince})
	for _, i := range running.Threads {
		list = append(list, ActiveThread{URI: i.URI.String(), Title: i.Name(), Dir: i.Cwd, Branch: i.Branch, State: i.State, ActiveAt: i.Modified})
	}
	return list, running.Warnings, err
}

// ActiveSessions is the rest of Activity: it describes at most so many sessions of
// one status, and returns the threads with the sessions that they belong to.
func (w *Workspace) ActiveSessions(ctx context.Context, threads []ActiveThread, most int) (Activity, error) {
	f := activity.Finder{Reader: w.hub, Sessions: w.sessions, Observer: session.ThisObserver(), Now: w.now()}
	return f.Find(ctx, threads, most)
}
