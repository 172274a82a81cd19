package localstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// Check verifies every index of the log that this user has.
func (x *Index) Check(ctx context.Context, repair bool) ([]handoff.Finding, error) {
	id, _, err := LogID(ctx, x.place.log)
	if err != nil || id == "" {
		return nil, err
	}
	var found []handoff.Finding
	remembered := false // the order of the records
	for _, dir := range x.place.dirs(id) {
		file := filepath.Join(dir, FileName)
		if _, err := os.Lstat(file); err != nil {
			continue // it is created when it is needed
		}
		f, ordered, err := x.checkOne(ctx, file, id, repair)
		if err != nil {
			return found, err
		}
		remembered = remembered || ordered
		if f.Text != "" {
			f.Name = file
			if rel, err := filepath.Rel(x.place.runtime, file); err == nil && filepath.IsLocal(rel) {
				f.Name = filepath.ToSlash(rel)
			}
			found = append(found, f)
		}
	}
	if !remembered {
		found = append(found, x.unordered(ctx)...)
	}
	return found, nil
}

// unordered returns the note that nothing remembers the order of the records.
func (x *Index) unordered(ctx context.Context) []handoff.Finding {
	log, ok := x.place.log.(handoff.Ender)
	if !ok {
		return nil
	}
	if newest, err := log.Newest(ctx); err != nil || newest < 2 {
		return nil
	}
	return []handoff.Finding{
		{Name: "log", Note: true, Text: "the order of its records can't be verified: no index remembers it"}}
}

// checkOne verifies one index, and reports whether the order of the records was compared
// with it.
func (x *Index) checkOne(ctx context.Context, file, id string, repair bool) (f handoff.Finding, ordered bool,
	err error) {
	note := func(format string, args ...any) (handoff.Finding, bool, error) {
		return handoff.Finding{Note: true, Text: fmt.Sprintf(format, args...)}, false, ctx.Err()
	}
	lock, err := lockIndex(ctx, filepath.Dir(file))
	if errors.Is(err, errReplaced) || errors.Is(err, durable.ErrLocked) {
		return note("can't be used now: %v", err)
	}
	if err != nil {
		return f, false, nil // not writable, so this user does not use it
	}
	at, err := sqlindex.Open(ctx, file, id)
	if err == nil {
		f, ordered, err = x.compare(ctx, at, repair)
		err = errors.Join(err, at.Close())
	}
	lock.Close()
	var fault *sqlindex.Error
	switch {
	case !errors.As(err, &fault):
		return f, ordered, err
	case !fault.Damaged:
		return note("can't be used now: %v", fault.Err)
	case repair:
		_ = discard(file) // if it is in use, its user discards it
	}
	return note("is damaged and will be rebuilt: %v", fault.Err)
}

// compare compares an index with the log. Its error is a *sqlindex.Error or the
// log's.
func (x *Index) compare(ctx context.Context, at *sqlindex.Index, repair bool) (f handoff.Finding, ordered bool,
	err error) {
	p, err := at.Position(ctx)
	if err != nil || p.Seq == 0 {
		return f, false, err
	}
	r, found, err := recordAt(ctx, x.place.log, p.Seq)
	if err != nil {
		return f, false, err
	}
	switch {
	case !found:
		f.Text = fmt.Sprintf("contains record %d, %s, which is beyond the end of the log: the log has lost records",
			p.Seq, p.ID)
	case r.ID != p.ID:
		f = handoff.Finding{Note: true, Text: fmt.Sprintf("contains another record %d than the log and will be rebuilt",
			p.Seq)}
	default:
		if err := handoff.CatchUp(ctx, x.place.log, at); err != nil {
			return f, false, err
		}
		differs, moved, err := at.Differs(ctx, x.place.log)
		switch {
		case err != nil || !differs:
			return f, true, err
		case moved > 0:
			f.Text = fmt.Sprintf("knows the artifact of record %d as another record: records of the log were exchanged",
				moved)
			f.Hint = handoff.Suggest("accept this order, if the log can't be restored from a copy",
				handoff.ActionRepair)
		default:
			f = handoff.Finding{Note: true, Text: "disagrees with the log; a repair rebuilds it"}
		}
	}
	if repair {
		if p, err = at.Position(ctx); err == nil {
			err = at.Reset(ctx, p)
		}
	}
	return f, !f.Note, err
}
