package threadindex

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/collision"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Collisions returns the collisions on files that q.In selects, among the changes
// in the time of q. Kind: Unsupported (a provider).
func (f *Files) Collisions(ctx context.Context, q Query) (transcript.Collisions, error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return transcript.Collisions{}, err
	}
	var mu sync.Mutex
	var writes []transcript.Write
	thread.Parallel(len(all.stored), func(i int) {
		if ctx.Err() != nil {
			return
		}
		entries, err := readEntries(ctx, all.stored[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !errors.Is(err, handoff.NotFound) {
			all.warnings = append(all.warnings, err.Error())
		}
		for _, e := range entries {
			writes = append(writes, e.writes(q.selectsChange)...)
		}
	})
	slices.Sort(all.warnings)
	return transcript.Collisions{Collisions: collision.Find(writes), Warnings: all.warnings}, ctx.Err()
}

// writes returns the changes of files by a thread that are selected, in its order.
func (e *entry) writes(selects func(path string, at time.Time) bool) (list []transcript.Write) {
	by := &transcript.Writer{URI: e.URI, First: e.Started, Last: e.Last}
	for _, t := range e.touches {
		writes := t.access == action.Written || t.access == action.Inferred
		if writes && !t.at.IsZero() && selects(t.path, t.at) {
			list = append(list, by.Write(t.path, t.n, t.at, t.access == action.Inferred))
		}
	}
	return list
}

// selectsChange reports whether q selects a change of a file.
func (q Query) selectsChange(path string, at time.Time) bool {
	return q.inTime(at) && (q.In == nil || q.In(path))
}

// Collisions is Files.Collisions.
func (x *Index) Collisions(ctx context.Context, q Query) (c transcript.Collisions, err error) {
	if err := x.files.check(q); err != nil {
		return c, err
	}
	used, warnings, err := x.ask(ctx, 0, func(a answer) error {
		several, _, err := a.where(ctx, Query{Providers: q.Providers})
		if err != nil {
			return err
		}
		several.add("w.path IN (SELECT path FROM touches WHERE access >= 2 " +
			"GROUP BY path HAVING count(DISTINCT thread) > 1)")
		writes, err := a.writes(ctx, several.String(), several.args, q.selectsChange)
		c.Collisions = collision.Find(writes)
		return err
	})
	if err == nil && !used {
		c, err = x.files.Collisions(ctx, q)
	}
	c.Warnings = append(c.Warnings, warnings...)
	return c, err
}

// writes returns the changes of files that meet a condition and are selected.
func (a answer) writes(ctx context.Context, where string, args []any,
	selects func(path string, at time.Time) bool) (writes []transcript.Write, err error) {
	rows, err := a.QueryContext(ctx,
		`SELECT w.path, w.n, w.at, w.access, t.id, t.uri, t.started, t.ended
		FROM touches w JOIN threads t ON t.id = w.thread WHERE w.access >= 2 AND w.at <> 0 AND `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[int64]*transcript.Writer{}
	for rows.Next() {
		var at, id, started, ended int64
		var n, access int
		var path, uri string
		if err := rows.Scan(&path, &n, &at, &access, &id, &uri, &started, &ended); err != nil {
			return nil, err
		}
		if !selects(path, timeOf(at)) {
			continue
		}
		if known[id] == nil {
			known[id] = &transcript.Writer{First: timeOf(started), Last: timeOf(ended)}
			if known[id].URI, err = thread.ParseURI(uri); err != nil {
				return nil, err
			}
		}
		writes = append(writes, known[id].Write(path, n, timeOf(at), accessOf(access) == action.Inferred))
	}
	return writes, rows.Err()
}

// nanos returns a time as it is stored, 0 for the zero time.
// ordered returns a time as a number in its order, also the zero time and one that a
// person typed.
func ordered(t time.Time) int64 {
	switch year := t.Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}
