package workspace

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// WatchOptions select what Watch and Wait yield.
type WatchOptions struct {
	Filter

	// After is the position in the log to start after: 0 for its beginning.
	// nil is the newest record; for Wait, an artifact that exists counts too.
	After *handoff.Seq
}

// Watch yields each artifact that a filter selects as it is published, until
// ctx ends, whose error is then the last. A record that can't be read is yielded
// as ErrDamagedRecord, of kind Corrupt, after which the watch continues.
//
// Kinds: Invalid, and those of reading the log.
func (w *Workspace) Watch(ctx context.Context, o WatchOptions) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		q, after, err := w.watchQuery(ctx, o)
		if err != nil {
			yield(handoff.Artifact{}, err)
			return
		}
		for r, err := range w.hub.Watch(ctx, after) {
			if err != nil {
				yield(handoff.Artifact{}, err)
				return
			}
			switch r.Fact.(type) {
			case *handoff.ArtifactPublished:
			case *handoff.Damaged:
				if !yield(handoff.Artifact{}, damaged(r.Seq)) {
					return
				}
				continue
			default:
				continue
			}
			one := q
			one.IDPrefix = r.ID
			a, ok, err := w.newest(ctx, one)
			if err != nil {
				yield(a, err)
				return
			}
			if ok && !yield(a, nil) {
				return
			}
		}
	}
}

// Wait returns the newest artifact that a filter selects, at once if there is
// one, else as soon as it is published.
//
// Kinds: those of Watch; the error of ctx if it ends first.
func (w *Workspace) Wait(ctx context.Context, o WatchOptions) (handoff.Artifact, error) {
	q, after, err := w.watchQuery(ctx, o)
	if err != nil {
		return handoff.Artifact{}, err
	}
	if o.After == nil {
		if a, ok, err := w.newest(ctx, q); err != nil || ok {
			return a, err
		}
	}
	o.After = &after
	for a, err := range w.Watch(ctx, o) {
		if err == nil || !errors.Is(err, ErrDamagedRecord) {
			return a, err
		}
	}
	return handoff.Artifact{}, ctx.Err()
}

func (w *Workspace) watchQuery(ctx context.Context, o WatchOptions) (handoff.ArtifactQuery, handoff.Seq, error) {
	q, err := w.query(ctx, o.Filter)
	if err != nil {
		return q, 0, err
	}
	if o.After == nil {
		newest, err := w.hub.Newest(ctx)
		return q, newest, err
	}
	if *o.After < 0 {
		return q, 0, invalid("after", strconv.FormatInt(int64(*o.After), 10), "is negative", "0 is the beginning of the log")
	}
	return q, *o.After, nil
}

// newest returns the newest artifact that a query selects, if there is one.
func (w *Workspace) newest(ctx context.Context, q handoff.ArtifactQuery) (handoff.Artifact, bool, error) {
	q.Limit = 1
	page, err := w.hub.Artifacts(ctx, q)
	if err != nil || len(page.Artifacts) == 0 {
		return handoff.Artifact{}, false, err
	}
	return page.Artifacts[0], true, nil
}

// ErrDamagedRecord is the reason of the error that Watch yields for a record that
// can't be read.
var ErrDamagedRecord = errors.New("can't be read")

func damaged(seq handoff.Seq) error {
	return &handoff.Error{Op: "record", Name: strconv.FormatInt(int64(seq), 10), Kind: handoff.Corrupt, Err: ErrDamagedRecord,
		Hint: handoff.Suggest("see what is damaged", handoff.ActionCheck)}
}
