package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
)

// Refused returns the records that the engine refused, in the order of the queue.
func (l *Log) Refused(ctx context.Context) ([]storage.RefusedRecord, error) {
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	return l.refused(ctx, s)
}

func (l *Log) refused(ctx context.Context, s state) (list []storage.RefusedRecord, err error) {
	records, err := l.pending(ctx, s, true)
	for _, r := range records {
		if i := slices.IndexFunc(s.Refused, func(f storage.Refusal) bool { return f.ID == r.ID }); i >= 0 {
			list = append(list, storage.RefusedRecord{Record: r, Reason: s.Refused[i].Reason})
		}
	}
	return list, err
}

// Drop removes records that the engine refused from the queue, and returns them in
// the order of the queue. Bodies are not removed. Kinds: NotFound (one was not refused; none is removed), Corrupt,
// Unavailable.
func (l *Log) Drop(ctx context.Context, ids []string) (dropped []storage.RefusedRecord, err error) {
	if l == nil { // nothing is queued for this log
		return nil, notRefused(ids[0])
	}
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	if len(s.Refused) == 0 { // there may be no directory
		return nil, notRefused(ids[0])
	}
	err = l.locked(ctx, "send.lock", sendWait, func() error {
		err := l.change(ctx, func(now *state) error {
			list, err := l.refused(ctx, *now)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if !slices.ContainsFunc(list, func(r storage.RefusedRecord) bool { return r.Record.ID == id }) {
					return notRefused(id)
				}
			}
			dropped = slices.DeleteFunc(list,
				func(r storage.RefusedRecord) bool { return !slices.Contains(ids, r.Record.ID) })
			now.Refused = slices.DeleteFunc(now.Refused,
				func(f storage.Refusal) bool { return slices.Contains(ids, f.ID) })
			return nil
		})
		if err == nil {
			_ = l.finish(ctx) // otherwise the next send does
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return dropped, nil
}

func notRefused(id string) error {
	return handoff.E("drop", id, handoff.NotFound, errors.New("not a queued record that the log refused"),
		handoff.Suggest("see what is queued", handoff.ActionLogStatus))
}

// Error returns the error of kind Conflict for records that the engine refused, nil
// if there are none.
func Error(list []storage.Refusal) error {
	if len(list) == 0 {
		return nil
	}
	e := handoff.E("send", "", handoff.Conflict,
		fmt.Errorf("the log refused %d queued records; they are kept", len(list)),
		handoff.Suggest("see what is queued", handoff.ActionLogStatus))
	if len(list) == 1 {
		e.Err = errors.New("the log refused a queued record; it is kept")
	}
	for _, r := range list {
		e.Details = append(e.Details, r.ID+": "+r.Reason)
	}
	return e
}
