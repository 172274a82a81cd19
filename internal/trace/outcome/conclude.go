package outcome

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/thread"
)

// Conclude returns work with the status of each unit that has no end, as the transcripts of a
// set that is observed, nil for none, and the processes of this machine show it.
func Conclude(ctx context.Context, all *lifecycle.Sessions, set *thread.Set, now time.Time,
	work []handoff.Work) []handoff.Work {
	o := Observer{Observer: lifecycle.ThisObserver(), Now: now,
		Session: func(id string) (handoff.Session, bool) {
			s, err := all.Session(ctx, id)
			return s, err == nil
		}}
	if set != nil {
		o.Thread = Reader(ctx, set)
	}
	return o.Work(work)
}
