package remote

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
)

// minPoll is how often Wait asks at most.
const minPoll = 20 * time.Millisecond

// Wait returns nil once newest returns a number after the given one. It asks every
// poll.
func Wait(ctx context.Context, newest func(context.Context) (handoff.Seq, error), after handoff.Seq,
	poll time.Duration) error {
	for {
		n, err := newest(ctx)
		if err != nil || n > after {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(poll, minPoll)):
		}
	}
}
