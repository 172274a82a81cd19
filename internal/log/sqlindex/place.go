package sqlindex

import (
	"context"
	"errors"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// A Place is where the database of an index is.
type Place interface {
	// Open opens the index that has the database. It is called for the first question, and for each one
	// as long as it returned Empty. After a fault of that index, the one that it returns has all
	// records of the log.
	Open(ctx context.Context, fault *Error) (*Index, error)

	// Queued returns the records that wait on this machine until the log can be reached, in
	// their order.
	Queued(ctx context.Context) ([]handoff.Record, error)
}

// In returns an index in a place. It opens nothing, and can be used again after Close.
func In(p Place) *Index { return &Index{place: p} }

// Do calls do with the index that has the database, and again with another one after a fault of the
// database. A fault of an index in memory is returned.
func (x *Index) Do(ctx context.Context, do func(at *Index) error) error {
	if x.place == nil {
		return do(x)
	}
	at, err := x.opened(ctx)
	for err == nil {
		err = do(at)
		var fault *Error
		if !errors.As(err, &fault) || at.file == "" {
			return err
		}
		at, err = x.replaced(ctx, at, fault)
	}
	return err
}

// opened returns the index that has the database.
func (x *Index) opened(ctx context.Context) (*Index, error) {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.place == nil {
		return x, nil
	}
	if x.at != nil && !x.at.empty {
		return x.at, nil
	}
	at, err := x.place.Open(ctx, nil)
	x.at = at
	return at, err
}

// replaced returns another index than at, which had a fault.
func (x *Index) replaced(ctx context.Context, at *Index, fault *Error) (*Index, error) {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.at != at && x.at != nil {
		return x.at, nil // another goroutine was first
	}
	at.Close() // its fault is what counts
	at, err := x.place.Open(ctx, fault)
	x.at = at
	return at, err
}

// once runs do on the database, and returns its faults.
func (x *Index) once(ctx context.Context, begin string, do func(*sqlite.Conn) error) error {
	at, err := x.opened(ctx)
	if err != nil {
		return err
	}
	return at.transact(ctx, begin, do)
}

// errUndo ends a transaction whose changes are not stored.
var errUndo = errors.New("undo")

// view is read for a question that sees queued records, as if they were stored after the newest
// one: they are applied in a transaction that is undone. It returns the sequence number that the
// first of them has there, 0 if none is queued. Nobody else can write to the database meanwhile.
func (x *Index) view(ctx context.Context, do func(*sqlite.Conn) error) (first handoff.Seq, err error) {
	var queued []handoff.Record
	if x.place != nil {
		if queued, err = x.place.Queued(ctx); err != nil {
			return 0, err
		}
	}
	if len(queued) == 0 {
		return 0, x.read(ctx, do)
	}
	queued = slices.Clone(queued)
	never := func(Position) bool { return false }
	err = x.Do(ctx, func(at *Index) error {
		err := at.write(ctx, never, func(c *sqlite.Conn) error {
			p, err := position(ctx, c, at.log)
			if err != nil {
				return err
			}
			first = p.Seq + 1
			for i := range queued {
				queued[i].Seq = first + handoff.Seq(i)
			}
			if err := applyAll(ctx, c, queued); err != nil {
				return err
			}
			if err := do(c); err != nil {
				return err
			}
			return errUndo
		})
		if errors.Is(err, errUndo) {
			return nil
		}
		return err
	})
	return first, err
}

// markQueued marks an artifact whose record is queued, and the reviews of it that are.
func markQueued(a *handoff.Artifact, first handoff.Seq) {
	if first == 0 {
		return
	}
	mark := func(reviews []handoff.Review) {
		for i := range reviews {
			reviews[i].Queued = reviews[i].Seq >= first
		}
	}
	a.Queued = a.Seq >= first
	mark(a.Reviews)
	if a.EarlierReview != nil {
		mark(a.EarlierReview.Reviews)
	}
}
