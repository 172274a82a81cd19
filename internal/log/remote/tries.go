package remote

import (
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
)

// How often an append is tried: failures are counted separately from races that
// another writer won, after which the next try has a new number.
const (
	maxFailures = 4
	maxRaces    = 200
	firstDelay  = 10 * time.Millisecond
	maxDelay    = 160 * time.Millisecond
)

// Tries count how often an append was tried.
type Tries struct {
	failures, races int
	pause           time.Duration
}

// Pause waits before the end of the log is looked up again, longer each time. A pause
// after that would make the next try lose against writers that do not wait.
func (t *Tries) Pause(ctx context.Context) error {
	t.pause = min(max(2*t.pause, firstDelay), maxDelay)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t.pause):
		return nil
	}
}

// Failed returns nil if the append is to be tried again, and the reason if it has
// failed too often.
func (t *Tries) Failed(reason error) error {
	if t.failures++; t.failures == maxFailures {
		return reason
	}
	return nil
}

// Lost is Failed after a race that another writer won. Its kind is Unavailable.
func (t *Tries) Lost(location string) error {
	if t.races++; t.races == maxRaces {
		return handoff.E("append", location, handoff.Unavailable, errors.New("other machines were faster each time"),
			handoff.Advice("try again"))
	}
	return nil
}
