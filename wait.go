package handoff

import (
	"context"
	"sync"
	"time"
)

// waitLimit is the key of a context whose waits have a limit: the value is a *limit.
type waitLimit struct{}

// A limit is the time at which waits end.
type limit struct {
	at   time.Time
	over sync.Once
	seen Seq // the newest record in the index when the time was first over
}

// LimitWaits returns a context in which what waits for others ends after a time, with
// context.DeadlineExceeded. Only waits end: what is there is always looked at once, however
// short the time and however slow the machine.
func LimitWaits(ctx context.Context, after time.Duration) context.Context {
	timer, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	at, _ := timer.Deadline()
	return context.WithValue(ctx, waitLimit{}, &limit{at: at})
}

// Waiting returns a context for a wait, which ends with ctx and at its limit.
func Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if l, ok := ctx.Value(waitLimit{}).(*limit); ok {
		return context.WithDeadline(ctx, l.at)
	}
	return ctx, func() {}
}

// wait waits for a record after the given sequence number. At the limit of ctx, a record that
// is in the index counts.
func (h *Hub) wait(ctx context.Context, after Seq) error {
	waiting, cancel := Waiting(ctx)
	defer cancel()
	err := h.log.Wait(waiting, after)
	l, limited := ctx.Value(waitLimit{}).(*limit)
	if err == nil || !limited || ctx.Err() != nil || waiting.Err() == nil {
		return err
	}
	l.over.Do(func() { l.seen, err = h.index.Seq(ctx) })
	if l.seen > after {
		return nil
	}
	return context.DeadlineExceeded
}
