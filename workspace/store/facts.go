package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// Facts yields every record after a position, as Position takes it, and then
// each new one: also those that this version does not know, unchanged. It ends
// and reports damage as Workspace.Watch does.
func (s Store) Facts(ctx context.Context, after string) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		start, err := s.Position(ctx, after)
		if err != nil {
			yield(handoff.Record{}, err)
			return
		}
		for r, err := range s.c.Anonymous.Watch(ctx, start) {
			if r.Import != "" { // imported: old, and hidden until its import is complete
				continue
			}
			shown, failed := s.c.Anonymous.Readable(ctx, r)
			if !yield(shown, cmp.Or(err, Damaged(r), failed)) || failed != nil {
				return
			}
		}
	}
}

// Position returns the sequence number that WatchOptions.After of package workspace names now: what a
// label or the newest artifact of a channel is can change between two waits.
//
// Kinds: Invalid, and those of Resolve.
func (s Store) Position(ctx context.Context, after string) (handoff.Seq, error) {
	newest, err := s.c.Anonymous.Newest(ctx)
	if err != nil || after == "" || after == "now" {
		return newest, err
	}
	if n, err := strconv.ParseInt(after, 10, 64); err == nil {
		if n < 0 {
			return 0, handoff.E("after", after, handoff.Invalid, errors.New("is negative"),
				handoff.Advice("0 is the beginning of the log"))
		}
		return handoff.Seq(n), nil
	}
	id, err := s.c.Resolve(ctx, after)
	if err != nil {
		return 0, err
	}
	a, err := s.c.Index.Artifact(ctx, id)
	if a.Queued { // it will be stored after what there is
		return newest, err
	}
	return a.Seq, err
}

// ErrDamagedRecord is the reason of the error that Facts and Workspace.Watch yield for a record that
// can't be read.
var ErrDamagedRecord = errors.New("can't be read")

// Damaged returns the error for a record that can't be read, nil for others.
func Damaged(r handoff.Record) error {
	if _, ok := r.Fact.(*handoff.Damaged); !ok {
		return nil
	}
	return handoff.E("record", strconv.FormatInt(int64(r.Seq), 10), handoff.Corrupt, ErrDamagedRecord,
		handoff.Suggest("see what is damaged", handoff.ActionCheck))
}
