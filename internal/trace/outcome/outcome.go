// Package outcome concludes how work ended of which no end is recorded, or that it goes
// on, from the processes of this machine, the transcripts and the time.
//
// What was recorded is never changed. Work is not taken to be completed unless its
// transcript shows it, and not to be running if nothing was seen of it for
// session.StalledAfter.
package outcome

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
)

// An Observer concludes the status of work.
type Observer struct {
	lifecycle.Observer
	Now time.Time

	// Thread returns the state of a thread and when it was seen, false if it can't be
	// read. nil if no transcripts are read.
	Thread func(uri string) (s thread.State, seen time.Time, ok bool)

	// Session returns a session or run, false if it is not recorded.
	Session func(id string) (handoff.Session, bool)
}

// The reasons of a status that is concluded, besides handoff.ProcessGone and those of
// handoff.LastSeen.
const (
	threadFailed = "the thread shows an error or an interruption"
	followed     = "another prompt followed"
	sessionEnded = "its session ended"
)

// Work returns work with the status of each unit that has no end, or that went on after
// it, and the reason if it is not running.
func (o Observer) Work(work []handoff.Work) []handoff.Work {
	f := family{o, map[unit]handoff.Work{}, map[unit][]handoff.Work{}}
	for _, w := range work {
		f.units[unit{w.Harness, w.ID}] = w
		above := unit{w.Harness, w.Parent}
		f.parts[above] = append(f.parts[above], w)
	}
	list := make([]handoff.Work, len(work))
	for i, w := range work {
		if f.isOpen(w) {
			w.Status, w.Reason = f.conclude(w)
		}
		list[i] = w
	}
	return list
}

// A unit identifies work.
type unit struct{ harness, id string }

// A family is work with what it is part of.
type family struct {
	Observer
	units map[unit]handoff.Work
	parts map[unit][]handoff.Work // by what they are part of
}

// isOpen reports whether work has no end, or is a session that was resumed after it.
func (f family) isOpen(w handoff.Work) bool {
	if w.Ended == 0 {
		return true
	}
	for _, p := range f.parts[unit{w.Harness, w.ID}] {
		if w.Kind == "session" && p.Kind == "prompt" && p.StartedAt.After(w.EndedAt) {
			return true
		}
	}
	return false
}

func (f family) conclude(w handoff.Work) (status, reason string) {
	presence := f.presence(w)
	if w.Kind == "prompt" && f.isFollowed(w) {
		return session.Failed, followed
	}
	if last, ok := f.lastPrompt(w); ok && presence == thread.Gone && last.Ended != 0 {
		return last.Status, ""
	}
	state, seen, known := f.thread(w)
	ends := presence == thread.Gone || w.Kind == "prompt" || w.Kind == "task" // with the turn
	if known && ends && !state.At.Before(w.StartedAt.Truncate(time.Second)) {
		switch {
		case state.Status == thread.Completed && state.Source != thread.Inferred: // else only the text before a call
			return session.Completed, ""
		case state.Status == thread.Errored:
			return session.Failed, threadFailed
		}
	}
	silent := f.Now.Sub(f.lastSeen(w, seen))
	switch reason, ended := f.endedAbove(w); {
	case presence == thread.Gone:
		return session.Failed, handoff.ProcessGone
	case ended:
		return session.Failed, reason
	case presence == thread.Unknown && silent > lifecycle.StalledAfter:
		return lifecycle.Stalled, handoff.LastSeen(silent)
	}
	return handoff.Running, ""
}

// presence returns what is known of the process of work.
func (f family) presence(w handoff.Work) thread.Presence {
	p := w
	if w.Process == (handoff.Process{}) && w.Kind != "session" {
		p = f.units[unit{w.Harness, w.Parent}]
	}
	if p.Kind == "session" {
		p = newest(p, f.parts[unit{p.Harness, p.ID}])
	}
	return Presence(f.Observer.Observer, p.Process)
}

// Presence returns what an observer knows of a process.
func Presence(o lifecycle.Observer, p handoff.Process) thread.Presence {
	switch exists, known := o.Sees(p); {
	case !known:
		return thread.Unknown
	case exists:
		return thread.Present
	}
	return thread.Gone
}

// newest returns the unit that names a process in the newest record: a session or one of
// its prompts, because it may have been resumed by another process. A subagent may run in
// a process of its own, which says nothing about that of the session.
func newest(w handoff.Work, parts []handoff.Work) handoff.Work {
	for _, p := range parts {
		if p.Kind == "prompt" && p.ProcessRecord > w.ProcessRecord {
			w = p
		}
	}
	return w
}

// Process returns what an observer knows of the process of a thread that was seen at a
// time, from the work of a harness with the ID of the thread. A process that reported
// its end says nothing about what the thread did later.
func Process(ctx context.Context, index interface {
	handoff.WorkLister
	Work(ctx context.Context, harness, id string) (handoff.Work, error)
}, o lifecycle.Observer, harness, id string, seen time.Time) thread.Presence {
	w, err := index.Work(ctx, harness, id)
	if err != nil {
		return thread.Unknown
	}
	parts, _ := index.WorkUnder(ctx, harness, id) // what can't be read is left out
	named := newest(w, parts)
	if named.ID == w.ID && w.Ended != 0 && seen.After(w.EndedAt) {
		return thread.Unknown
	}
	return Presence(o, named.Process)
}

// lastPrompt returns the last prompt of a session, false if it has none.
func (f family) lastPrompt(w handoff.Work) (last handoff.Work, ok bool) {
	for _, p := range f.parts[unit{w.Harness, w.ID}] {
		if w.Kind == "session" && p.Kind == "prompt" && p.Started >= last.Started {
			last, ok = p, true
		}
	}
	return last, ok
}

// isFollowed reports whether a later prompt has the same parent.
func (f family) isFollowed(w handoff.Work) bool {
	for _, p := range f.parts[unit{w.Harness, w.Parent}] {
		if p.Kind == "prompt" && p.Started > w.Started && w.Parent != "" {
			return true
		}
	}
	return false
}

func (f family) thread(w handoff.Work) (s thread.State, seen time.Time, known bool) {
	if f.Thread == nil || w.Thread == "" {
		return s, seen, false
	}
	return f.Thread(w.Thread)
}

// lastSeen returns when there was a sign of work, its parts or its thread.
func (f family) lastSeen(w handoff.Work, seen time.Time) time.Time {
	for _, at := range []time.Time{w.StartedAt, w.EndedAt} {
		if at.After(seen) {
			seen = at
		}
	}
	for _, p := range f.parts[unit{w.Harness, w.ID}] {
		for _, at := range []time.Time{p.StartedAt, p.EndedAt} {
			if at.After(seen) {
				seen = at
			}
		}
	}
	return seen
}

// endedAbove reports whether the session that work is part of ended, and why.
func (f family) endedAbove(w handoff.Work) (reason string, ended bool) {
	above := f.units[unit{w.Harness, w.Parent}]
	if above.Kind == "session" && above.Ended != 0 && !above.EndedAt.Before(w.StartedAt) {
		return sessionEnded, true
	}
	for _, id := range []string{w.RunID, w.SessionID} {
		if id == "" || f.Session == nil {
			continue
		}
		if s, ok := f.Session(id); ok && s.Status != handoff.Running {
			if s.Reason == handoff.ProcessGone {
				return s.Reason, true
			}
			return sessionEnded, true
		}
	}
	return "", false
}
