package localstate

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// A queuer is a log that stores records on this machine while its engine can't be
// reached.
type queuer interface {
	// Queued returns the records that are stored so, in their order.
	Queued(ctx context.Context) ([]handoff.Record, error)

	// Offline reports whether the engine can't be reached.
	Offline() bool
}

func isOffline(log handoff.Log) bool {
	q, ok := log.(queuer)
	return ok && q.Offline()
}

// askQueued is ask for a query that sees queued records as well, as if they were
// stored after the newest record. mark may be nil; otherwise it is called with the
// sequence number that the first queued record has in the answer.
func askQueued[T any](ctx context.Context, x *Index, query func(handoff.Index) (T, error),
	mark func(*T, handoff.Seq)) (T, error) {
	q, ok := x.log.(queuer)
	if !ok {
		return ask(ctx, x, query)
	}
	records, err := q.Queued(ctx)
	if err != nil || len(records) == 0 {
		var none T
		if err != nil {
			return none, err
		}
		return ask(ctx, x, query)
	}
	return ask(ctx, x, func(at handoff.Index) (T, error) {
		var start handoff.Seq
		var first func() handoff.Seq
		file, ok := at.(*sqlindex.Index)
		if ok {
			at, first = file.With(records)
		} else if at, start, err = inMemory(ctx, x.log, records); err != nil {
			var none T
			return none, err
		}
		answer, err := query(at)
		if err == nil && mark != nil {
			if ok {
				start = first()
			}
			mark(&answer, start)
		}
		return answer, err
	})
}

// inMemory returns an index of a log and of queued records.
func inMemory(ctx context.Context, log handoff.Log, records []handoff.Record) (handoff.Index, handoff.Seq, error) {
	memory := fold.NewMemory()
	err := handoff.CatchUp(ctx, log, memory)
	var last handoff.Seq
	if err == nil {
		last, err = memory.Seq(ctx)
	}
	for i := range records {
		records[i].Seq = last + handoff.Seq(i) + 1
	}
	if err == nil {
		err = memory.Apply(ctx, records...)
	}
	return memory, last + 1, err
}

// markQueued marks an artifact whose record is queued, and the reviews of it that are.
func markQueued(a *handoff.Artifact, start handoff.Seq) {
	a.Queued = a.Seq >= start
	for i := range a.Reviews {
		a.Reviews[i].Queued = a.Reviews[i].Seq >= start
	}
	if a.EarlierReview != nil {
		for i := range a.EarlierReview.Reviews {
			r := &a.EarlierReview.Reviews[i]
			r.Queued = r.Seq >= start
		}
	}
}
