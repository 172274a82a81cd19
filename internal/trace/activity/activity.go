// Package activity describes what is going on in a workspace.
package activity

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/transcript/collision"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// Wrote returns t with the changes of files that it and its subagents made since the
// last message of its user, in the order of time.
func Wrote(t trace.RunningThread, writes []transcript.Write) trace.RunningThread {
	t.Writing, t.Writes = newest(writes), writes
	return t
}

// includes reports whether a record that names a thread is of t or one of its
// subagents. Those of Codex name themselves without their parents: of these, only those
// that changed files are known.
func includes(t trace.RunningThread, name string) bool {
	uri, err := thread.ParseURI(name)
	if err != nil || uri.Main().String() == t.URI {
		return err == nil
	}
	return slices.ContainsFunc(t.Writes, func(w transcript.Write) bool {
		return w.URI.Provider == uri.Provider && w.URI.Agent == uri.Thread
	})
}

// maxWriting is the number of files that are shown for a thread or session.
const maxWriting = 5

// maxCollisions is the number of collisions that are shown.
const maxCollisions = 20

// newest returns the last change of each of the files that were changed last.
func newest(writes []transcript.Write) (list []transcript.Write) {
	for _, w := range slices.Backward(writes) {
		known := slices.ContainsFunc(list, func(other transcript.Write) bool { return other.Path == w.Path })
		if !known && len(list) < maxWriting {
			list = append(list, w)
		}
	}
	return list
}

// A Finder finds what is going on.
type Finder struct {
	Reader   handoff.Reader
	Sessions *lifecycle.Sessions
	Observer lifecycle.Observer
	Now      time.Time
}

// Find describes at most the given number of sessions of one status, and returns the threads
// with the sessions that they belong to.
func (f Finder) Find(ctx context.Context, threads []trace.RunningThread, most int) (trace.Activity, error) {
	a := trace.Activity{Sessions: []trace.ActiveSession{}, Threads: slices.Clone(threads)}
	q := lifecycle.Query{Observer: f.Observer, Now: f.Now}
	q.IncludeRuns, q.Limit = true, most
	open, more, err := lifecycle.FindOpen(ctx, f.Reader, q)
	if err != nil {
		return a, err
	}
	for _, v := range open {
		active, err := f.describe(ctx, v, a.Threads)
		if err != nil {
			return a, err
		}
		a.Sessions = append(a.Sessions, active)
	}
	for _, status := range more {
		a.Warnings = append(a.Warnings, "more sessions are "+status+" than are shown")
	}
	var writes []transcript.Write
	for _, t := range a.Threads {
		writes = append(writes, t.Writes...)
	}
	a.Collisions = collision.Find(writes)
	order.Sort(a.Collisions, func(x, y transcript.Collision) int { return y.Second.At.Compare(x.Second.At) })
	if len(a.Collisions) > maxCollisions {
		a.Collisions = a.Collisions[:maxCollisions]
		a.Warnings = append(a.Warnings, "more files are changed by two threads than are shown")
	}
	order.Sort(a.Sessions, func(x, y trace.ActiveSession) int { return y.OpenedAt.Compare(x.OpenedAt) })
	return a, ctx.Err()
}

// describe describes a session and notes it at its threads.
func (f Finder) describe(ctx context.Context, v lifecycle.OpenSession, running []trace.RunningThread) (
	trace.ActiveSession, error) {
	a := trace.ActiveSession{View: v.View, ActiveAt: v.NewestAt}
	p, err := f.Sessions.Progress(ctx, v.Session, v.Newest)
	if err != nil {
		return a, err
	}
	a.Expectations, a.Threads = p.Expectations, p.Threads
	if p.Newest != nil {
		a.NewestRef, a.Newest = p.Newest.ID, p.Newest
	}
	if p.ActiveAt.After(a.ActiveAt) {
		a.ActiveAt = p.ActiveAt
	}
	a.Idle = len(p.Threads) > 0 && v.Process == (handoff.Process{}) && v.Child == (handoff.Process{})
	var writes []transcript.Write
	for i, t := range running {
		if slices.ContainsFunc(p.Threads, func(uri string) bool { return includes(t, uri) }) {
			running[i].Session, a.Idle = v.ID, false
			if a.Status == lifecycle.Stalled { // its thread shows more than its records
				a.Status, a.Reason = handoff.Running, ""
				lifecycle.SetNotices(&a.View, p.Expectations)
			}
			writes = append(writes, t.Writes...)
			if t.ActiveAt.After(a.ActiveAt) {
				a.ActiveAt = t.ActiveAt
			}
		}
	}
	order.Sort(writes, func(x, y transcript.Write) int { return x.At.Compare(y.At) })
	a.Writing = newest(writes)
	return a, nil
}
