// Package activity describes what is going on in a workspace.
package activity

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/transcript/collision"
	"github.com/agent-handoff/handoff/thread"
)

// An Activity is what is going on in a workspace.
type Activity struct {
	Sessions []Session `json:"sessions"` // running and stalled, newest first
	Threads  []Thread  `json:"threads"`  // running threads, the last active first

	// Collisions are the files that two of these threads or their subagents
	// changed since the last messages of their users, each while the other was active,
	// the newest first, at most 20.
	Collisions []collision.Collision `json:"collisions,omitempty"`

	Warnings []string `json:"warnings,omitempty"`
}

// A Session is a session or run that was not closed.
type Session struct {
	session.View
	// its last record, or the last change of its threads
	ActiveAt     time.Time          `json:"activeAt"`
	Expectations []session.Expected `json:"expectedOutputs,omitempty"` // what it should leave
	NewestRef    string             `json:"newestArtifactId,omitempty"`
	Threads      []string           `json:"threads,omitempty"` // URIs of its threads
	Writing      []collision.Write  `json:"writing,omitempty"` // what its running threads changed last

	// Idle reports that the session was probably not closed: it has no process, and
	// none of its threads is running.
	Idle bool `json:"idle,omitempty"`

	Newest *handoff.Artifact `json:"-"` // with NewestRef
}

// A Thread is one that has not ended its turn: it works, or waits for a person.
type Thread struct {
	URI      string       `json:"uri"`
	Title    string       `json:"title,omitempty"` // or the beginning of the first message
	Dir      string       `json:"cwd,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	State    thread.State `json:"state"`
	ActiveAt time.Time    `json:"activeAt"`
	Session  string       `json:"sessionId,omitempty"` // the session of handoff that it belongs to

	// Writing are the files that it and its subagents changed last since the last
	// message of its user, the newest change first.
	Writing []collision.Write `json:"writing,omitempty"`

	writes []collision.Write // all changes since then, in the order of time
}

// Wrote returns t with the changes of files that it and its subagents made since the
// last message of its user, in the order of time.
func (t Thread) Wrote(writes []collision.Write) Thread {
	t.Writing, t.writes = newest(writes), writes
	return t
}

// includes reports whether a record that names a thread is of t or one of its
// subagents. Those of Codex name themselves without their parents: of these, only those
// that changed files are known.
func (t Thread) includes(name string) bool {
	uri, err := thread.ParseURI(name)
	if err != nil || uri.Main().String() == t.URI {
		return err == nil
	}
	return slices.ContainsFunc(t.writes, func(w collision.Write) bool {
		return w.URI.Provider == uri.Provider && w.URI.Agent == uri.Thread
	})
}

// maxWriting is the number of files that are shown for a thread or session.
const maxWriting = 5

// maxCollisions is the number of collisions that are shown.
const maxCollisions = 20

// newest returns the last change of each of the files that were changed last.
func newest(writes []collision.Write) (list []collision.Write) {
	for _, w := range slices.Backward(writes) {
		known := slices.ContainsFunc(list, func(other collision.Write) bool { return other.Path == w.Path })
		if !known && len(list) < maxWriting {
			list = append(list, w)
		}
	}
	return list
}

// A Finder finds what is going on.
type Finder struct {
	Reader   handoff.Reader
	Sessions *session.Sessions
	Observer session.Observer
	Now      time.Time
}

// Find describes at most the given number of sessions of one status, and returns the threads
// with the sessions that they belong to.
func (f Finder) Find(ctx context.Context, threads []Thread, most int) (Activity, error) {
	a := Activity{Sessions: []Session{}, Threads: slices.Clone(threads)}
	for _, status := range []string{handoff.Running, session.Stalled} {
		q := session.Query{Observer: f.Observer, Now: f.Now}
		q.Status, q.IncludeRuns, q.Limit = status, true, most
		page, err := session.Find(ctx, f.Reader, q)
		if err != nil {
			return a, err
		}
		for _, v := range page.Sessions {
			active, err := f.describe(ctx, v, a.Threads)
			if err != nil {
				return a, err
			}
			a.Sessions = append(a.Sessions, active)
		}
		if page.Cursor != "" {
			a.Warnings = append(a.Warnings, "more sessions are "+status+" than are shown")
		}
	}
	var writes []collision.Write
	for _, t := range a.Threads {
		writes = append(writes, t.writes...)
	}
	a.Collisions = collision.Find(writes)
	slices.SortStableFunc(a.Collisions, func(x, y collision.Collision) int { return y.Second.At.Compare(x.Second.At) })
	if len(a.Collisions) > maxCollisions {
		a.Collisions = a.Collisions[:maxCollisions]
		a.Warnings = append(a.Warnings, "more files are changed by two threads than are shown")
	}
	slices.SortStableFunc(a.Sessions, func(x, y Session) int { return y.OpenedAt.Compare(x.OpenedAt) })
	return a, ctx.Err()
}

// describe describes a session and notes it at its threads.
func (f Finder) describe(ctx context.Context, v session.View, running []Thread) (Session, error) {
	a := Session{View: v, ActiveAt: v.NewestAt}
	p, err := f.Sessions.Progress(ctx, v.Session)
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
	a.Idle = len(p.Threads) > 0 && v.Process == (handoff.Process{}) && v.Child == (handoff.Process{})
	var writes []collision.Write
	for i, t := range running {
		if slices.ContainsFunc(p.Threads, t.includes) {
			running[i].Session, a.Idle = v.ID, false
			if a.Status == session.Stalled { // its thread shows more than its records
				a.Status, a.Reason = handoff.Running, ""
			}
			writes = append(writes, t.writes...)
			if t.ActiveAt.After(a.ActiveAt) {
				a.ActiveAt = t.ActiveAt
			}
		}
	}
	slices.SortStableFunc(writes, func(x, y collision.Write) int { return x.At.Compare(y.At) })
	a.Writing = newest(writes)
	return a, nil
}
