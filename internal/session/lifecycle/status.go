package lifecycle

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// Stalled is the status shown for a session that is recorded as running but has
// had no activity for more than StalledAfter. It is never recorded.
const (
	Stalled      = "stalled"
	StalledAfter = 30 * time.Minute
)

// Statuses are the statuses that a session can be shown with.
var Statuses = []string{handoff.Running, session.Completed, session.Failed, session.Cancelled, Stalled}

// An Observer checks processes from one boot of a machine and one PID
// namespace. The zero value observes none and concludes nothing.
type Observer struct {
	BootID       string
	PIDNamespace string
	Alive        func(handoff.Process) bool // called only for processes of the same boot and namespace
}

func (o Observer) canCheck(p handoff.Process) bool {
	return o.Alive != nil && p.BootID != "" && p.BootID == o.BootID && p.PIDNamespace == o.PIDNamespace
}

// Sees reports whether a process exists, if the observer can check it.
func (o Observer) Sees(p handoff.Process) (exists, known bool) {
	if !o.canCheck(p) {
		return false, false
	}
	return o.Alive(p), true
}

// abandoned reports whether both processes of a running session, handoff and
// its child, are known and have ended. Only an observer of the same boot and
// PID namespace can conclude that; for all others the session is running.
func abandoned(s handoff.Session, o Observer) bool {
	return s.Status == handoff.Running && o.canCheck(s.Process) && o.canCheck(s.Child) && !o.Alive(s.Process) &&
		!o.Alive(s.Child)
}

// CloseAbandoned closes every abandoned session and run that the observer can
// detect, as Failed with handoff.ProcessGone. A session that was closed in the meantime
// is left as it is.
func (ss *Sessions) CloseAbandoned(ctx context.Context, o Observer) ([]string, error) {
	if o.BootID == "" {
		return nil, nil
	}
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{BootID: o.BootID, IncludeRuns: true, IncludeArchived: true})
	var warnings []string
	for _, s := range page.Sessions {
		if !abandoned(s, o) {
			continue
		}
		if now, err := ss.Session(ctx, s.ID); err != nil || now.Closed != 0 {
			continue // closed in the meantime
		}
		more, err := ss.record(ctx, s.ID, &handoff.SessionClosed{
			SessionID: s.ID, Status: session.Failed, Reason: handoff.ProcessGone})
		if warnings = append(warnings, more...); err != nil {
			return warnings, err
		}
	}
	return warnings, err
}

// StatusAt returns the status of a session at the time now, as the observer
// sees it, with its reason: as it was closed, running, Failed with handoff.ProcessGone,
// or Stalled with handoff.LastSeen. The last activity is the session's newest record or
// the given time, whichever is later; of a session that another engine created, its start.
// A session is stalled at once, with handoff.ProcessGone, if the process that waits for
// its end is gone and its command is not known.
func StatusAt(s handoff.Session, o Observer, now, lastActivity time.Time) (status, reason string) {
	if s.Status != handoff.Running {
		return s.Status, s.Reason
	}
	if abandoned(s, o) {
		return session.Failed, handoff.ProcessGone
	}
	switch {
	case s.Adopted != nil:
		lastActivity = s.OpenedAt // its records say when it was imported
	case lastActivity.Before(s.NewestAt):
		lastActivity = s.NewestAt
	}
	alive := o.canCheck(s.Process) && o.Alive(s.Process) || o.canCheck(s.Child) && o.Alive(s.Child)
	// nobody waits for the end
	unattended := o.canCheck(s.Process) && !o.Alive(s.Process) && s.Child == (handoff.Process{})
	switch silent := now.Sub(lastActivity); {
	case !alive && unattended:
		return Stalled, handoff.ProcessGone
	case !alive && silent > StalledAfter:
		return Stalled, handoff.LastSeen(silent)
	}
	return handoff.Running, ""
}
