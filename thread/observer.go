package thread

import (
	"fmt"
	"time"

	"github.com/agent-handoff/handoff"
)

// SilentAfter is how long after the last sign of it a thread may be Running, unless
// its process is known to exist.
const SilentAfter = 30 * time.Minute

// SettledAfter is how long after its last write a transcript that records no end of
// turns is taken to have ended. In published transcripts of Claude Code before 2.1.9, the
// rest of an answer follows a text within 71 seconds, in 43 of 43 places.
const SettledAfter = 2 * time.Minute

// A Presence is what is known of the process that writes a thread.
type Presence int

// The presences.
const (
	Unknown Presence = iota // it is not recorded, or is one of another machine
	Present                 // it exists
	Gone                    // it has ended
)

// A Observer knows what no transcript has: the time, and which processes exist. The
// zero value knows nothing, and leaves states as they were read.
type Observer struct {
	Now func() time.Time

	// Process returns what is known of the process of a main thread that was seen at a
	// time. nil if none is known.
	Process func(u URI, seen time.Time) Presence
}

// State returns the state of a thread at the time of the observer. A thread without an
// end is Running while its process exists and Shutdown when that has ended. If its
// process is not known, it is Shutdown when it was silent for longer than SilentAfter.
// One that is Completed with NoEnd is Running until its transcript has SettledAfter.
func (o Observer) State(u URI, s State, seen, written time.Time) State {
	if o.Now == nil {
		return s
	}
	now := o.Now()
	open := s.Status == Completed && s.NoEnd && now.Sub(written) < SettledAfter
	if s.Status != Running && !open {
		return s
	}
	presence := Unknown
	if o.Process != nil {
		presence = o.Process(u.Main(), seen)
	}
	silent := now.Sub(seen)
	concluded := s
	concluded.Source, concluded.NoEnd = Inferred, false
	switch {
	case open && presence != Gone:
		concluded.Status, concluded.Waiting = Running, ""
		concluded.Evidence = fmt.Sprintf("written less than %s ago: %s", SettledAfter, s.Evidence)
	case open, presence == Present:
		return s
	case presence == Gone:
		concluded.Status, concluded.Waiting, concluded.Reason = Shutdown, "", handoff.ProcessGone
		concluded.Evidence = "its process has ended; before: " + s.Evidence
	case silent > SilentAfter:
		concluded.Status, concluded.Reason = Shutdown, handoff.LastSeen(silent)
		concluded.Evidence = concluded.Reason + "; before: " + s.Evidence
	}
	if concluded.Status == s.Status {
		return s
	}
	return concluded
}

// agents sets the states of subagents of main, and that of main, which was seen when
// the last of them was.
func (o Observer) agents(main *Thread, list []Agent) {
	var last time.Time
	for i := range list {
		a := &list[i]
		seen, written := a.Updated, a.Updated
		switch {
		case a.Thread != nil:
			seen, written = a.Thread.seen()
			a.Thread.observe(o, time.Time{})
		case seen.IsZero():
			seen, written = main.seen()
		}
		if seen.After(last) {
			last = seen
		}
		a.State = o.State(main.URI(), a.State, seen, written)
	}
	main.observe(o, last)
}

// Observe concludes the state of a thread with its URI.
func (o Observer) Observe(u URI, t *Thread) {
	seen, written := t.seen()
	t.State = o.State(u, t.State, seen, written)
}

// Recorded returns the statuses that a transcript may show of a thread whose state is
// concluded as s.
func (s Status) Recorded() []Status {
	switch s {
	case Running:
		return []Status{s, Completed}
	case Shutdown:
		return []Status{s, Running}
	}
	return []Status{s}
}

// observe has an observer conclude the state of t, which has a subagent that was seen
// at a time.
func (t *Thread) observe(o Observer, agents time.Time) {
	t.observer, t.agentsAt = o, agents
	if !t.loaded {
		return
	}
	seen, written := t.seen()
	if agents.After(seen) {
		seen = agents
	}
	t.State = o.State(t.URI(), t.recorded, seen, written)
}

// Seen returns when there was the last sign of t, its last record or, if that has no
// time, the last write of its transcript.
func (t *Thread) Seen() time.Time {
	seen, _ := t.seen()
	return seen
}

// seen returns when there was a sign of t, and when its transcript was written.
func (t *Thread) seen() (seen, written time.Time) {
	written = t.Modified
	if t.Last.After(written) {
		written = t.Last
	}
	if t.Last.IsZero() || t.Undated {
		return written, written
	}
	return t.Last, written
}
