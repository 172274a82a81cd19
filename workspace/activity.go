package workspace

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/thread"
)

// An Activity is what is going on in a workspace.
type Activity struct {
	Sessions []ActiveSession `json:"sessions"` // running and stalled, newest first
	Threads  []ActiveThread  `json:"threads"`  // running conversations, the last active first
	Warnings []string        `json:"warnings,omitempty"`
}

// An ActiveSession is a session or run that was not closed.
type ActiveSession struct {
	SessionView
	ActiveAt     time.Time  `json:"activeAt"`                  // its last record, or the last change of its conversations
	Expectations []Expected `json:"expectedOutputs,omitempty"` // what it should leave
	NewestRef    string     `json:"newestArtifactId,omitempty"`
	Threads      []string   `json:"threads,omitempty"` // URIs of its conversations

	Newest *handoff.Artifact `json:"-"` // with NewestRef
}

// An ActiveThread is a conversation that has not ended its turn, by its transcript:
// it works, waits for a person, or was killed.
type ActiveThread struct {
	URI      string       `json:"uri"`
	Title    string       `json:"title,omitempty"` // or the beginning of the first message
	Dir      string       `json:"cwd,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	State    thread.State `json:"state"`
	ActiveAt time.Time    `json:"activeAt"`
	Session  string       `json:"sessionId,omitempty"` // the session of handoff that it belongs to
}

// maxActive is the number of sessions of one status that Activity describes.
const maxActive = 100

// Activity returns the sessions of the workspace that were not closed, and the
// running conversations of this repository that the tools of set keep.
//
// A session is running while its process is, and stalled if it shows no activity
// for long. A conversation is as its transcript ends.
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
	running, err := w.Threads(ctx, set, ThreadOptions{Status: thread.Running})
	for _, i := range running.Threads {
		list = append(list, ActiveThread{URI: i.URI.String(), Title: i.Name(), Dir: i.Cwd, Branch: i.Branch, State: i.State, ActiveAt: i.Modified})
	}
	return list, running.Warnings, err
}

// ActiveSessions is the rest of Activity: it describes at most so many sessions of
// one status, and returns the threads with the sessions that they belong to.
func (w *Workspace) ActiveSessions(ctx context.Context, threads []ActiveThread, most int) (Activity, error) {
	a := Activity{Sessions: []ActiveSession{}, Threads: slices.Clone(threads)}
	for _, status := range []string{handoff.Running, session.Stalled} {
		page, err := w.FindSessions(ctx, SessionFilter{Status: status, IncludeRuns: true, Limit: most})
		if err != nil {
			return a, err
		}
		for _, v := range page.Sessions {
			active, err := w.activeSession(ctx, v, a.Threads)
			if err != nil {
				return a, err
			}
			a.Sessions = append(a.Sessions, active)
		}
		if page.Cursor != "" {
			a.Warnings = append(a.Warnings, "more sessions are "+status+" than are shown")
		}
	}
	slices.SortStableFunc(a.Sessions, func(x, y ActiveSession) int { return y.OpenedAt.Compare(x.OpenedAt) })
	return a, ctx.Err()
}

// activeSession describes a session and notes it at its conversations.
func (w *Workspace) activeSession(ctx context.Context, v SessionView, running []ActiveThread) (ActiveSession, error) {
	a := ActiveSession{SessionView: v, ActiveAt: v.NewestAt}
	p, err := w.sessions.Progress(ctx, v.Session)
	if err != nil {
		return a, err
	}
	a.Expectations, a.Threads = p.Expectations, p.Threads
	if len(p.Artifacts) > 0 {
		a.NewestRef, a.Newest = p.Artifacts[0].ID, &p.Artifacts[0]
	}
	if p.ActiveAt.After(a.ActiveAt) {
		a.ActiveAt = p.ActiveAt
	}
	for i, t := range running {
		if slices.Contains(p.Threads, t.URI) {
			running[i].Session = v.ID
			if t.ActiveAt.After(a.ActiveAt) {
				a.ActiveAt = t.ActiveAt
			}
		}
	}
	return a, nil
}
