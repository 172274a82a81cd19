package session

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
)

// The statuses that a session is closed with.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Stalled is shown of a session that runs, as far as is recorded, but of which
// nothing was heard for StalledAfter. It is never recorded.
const (
	Stalled      = "stalled"
	StalledAfter = 2 * time.Hour
)

// Statuses are all that a session can be shown with.
var Statuses = []string{handoff.Running, Completed, Failed, Cancelled, Stalled}

// ProcessGone is the reason of a session that failed because nothing that
// worked in it is left.
const ProcessGone = "process gone"

// An Observer is who looks at processes, and from where. Its zero value sees
// none, and concludes nothing.
type Observer struct {
	BootID       string
	PIDNamespace string
	Alive        func(handoff.Process) bool // asked only about processes of its own boot and namespace
}

func (o Observer) sees(p handoff.Process) bool {
	return o.Alive != nil && p.BootID != "" && p.BootID == o.BootID && p.PIDNamespace == o.PIDNamespace
}

// gone reports whether the processes of a running session, handoff's and its
// child's, are both known and both gone. Only an observer of the same boot in
// the same pid namespace may conclude that; to all others the session runs.
func gone(s handoff.Session, o Observer) bool {
	return s.Status == handoff.Running && o.sees(s.Process) && o.sees(s.Child) && !o.Alive(s.Process) && !o.Alive(s.Child)
}

// CloseAbandoned closes, as Failed with ProcessGone, every session and run that the
// observer may conclude is at its end. One that another observer closes at the
// same time stays closed as the first did.
func (ss *Sessions) CloseAbandoned(ctx context.Context, o Observer) ([]string, error) {
	if o.BootID == "" {
		return nil, nil
	}
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{BootID: o.BootID, Runs: true, Archived: true})
	var warnings []string
	for _, s := range page.Sessions {
		if !gone(s, o) {
			continue
		}
		if now, err := ss.session(ctx, s.ID); err != nil || now.Closed != 0 {
			continue // another observer was first
		}
		more, err := ss.record(ctx, s.ID, &handoff.SessionClosed{SessionID: s.ID, Status: Failed, Reason: ProcessGone})
		if warnings = append(warnings, more...); err != nil {
			return warnings, err
		}
	}
	return warnings, err
}

// StatusAt returns the status of a session as the observer sees it now, with its
// reason: as it was closed, running, Failed with ProcessGone, or Stalled.
// The last sign of life is the session's newest record, or the given time if
// that is later.
func StatusAt(s handoff.Session, o Observer, now, lastSign time.Time) (status, why string) {
	if s.Status != handoff.Running {
		return s.Status, s.Reason
	}
	if gone(s, o) {
		return Failed, ProcessGone
	}
	if lastSign.Before(s.NewestAt) {
		lastSign = s.NewestAt
	}
	alive := o.sees(s.Process) && o.Alive(s.Process) || o.sees(s.Child) && o.Alive(s.Child)
	if !alive && now.Sub(lastSign) > StalledAfter {
		return Stalled, ""
	}
	return handoff.Running, ""
}
