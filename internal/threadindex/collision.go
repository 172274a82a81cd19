package threadindex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/action"
	"github.com/agent-handoff/handoff/thread"
)

// A Collision is a file that two conversations or subagents changed, each while
// the other was active. Of their changes, it has the two that are closest in time.
type Collision struct {
	Path   string `json:"path"`
	First  Change `json:"first"`
	Second Change `json:"second"`
}

// A Change is a call that changed a file.
type Change struct {
	URI thread.URI `json:"uri"` // of the message
	At  time.Time  `json:"changedAt"`
}

// Collisions are the collisions that were found, by path.
type Collisions struct {
	Collisions []Collision `json:"collisions"`
	Warnings   []string    `json:"warnings,omitempty"` // what could not be read
}

// A writer is a thread that changed files.
type writer struct {
	uri         thread.URI
	first, last time.Time // when it was active
}

// A write is one change of a file.
type write struct {
	path string
	by   *writer
	n    int // of the message
	at   time.Time
}

// Collisions returns the collisions on files that q.In selects, among the changes
// in the time of q. Kind: Unsupported (a provider).
func (f *Files) Collisions(ctx context.Context, q Query) (Collisions, error) {
	all, err := f.find(ctx, q.Providers)
	if err != nil {
		return Collisions{}, err
	}
	var mu sync.Mutex
	var writes []write
	thread.Parallel(len(all.stored), func(i int) {
		if ctx.Err() != nil {
			return
		}
		entries, err := readEntries(ctx, all.stored[i], readEntry)
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !errors.Is(err, handoff.NotFound) {
			all.warnings = append(all.warnings, err.Error())
		}
		for _, e := range entries {
			by := &writer{e.URI, e.Started, e.Last}
			for _, t := range e.touches {
				if t.access == action.Written && !t.at.IsZero() && q.selectsChange(t.path, t.at) {
					writes = append(writes, write{t.path, by, t.n, t.at})
				}
			}
		}
	})
	slices.Sort(all.warnings)
	return Collisions{collide(writes), all.warnings}, ctx.Err()
}

// selectsChange reports whether q selects a change of a file.
func (q Query) selectsChange(path string, at time.Time) bool {
	return q.inTime(at) && (q.In == nil || q.In(path))
}

// collide returns the collisions among some changes.
func collide(writes []write) []Collision {
	list := []Collision{}
	slices.SortFunc(writes, func(a, b write) int {
		return cmp.Or(strings.Compare(a.path, b.path), a.at.Compare(b.at), strings.Compare(a.by.uri.String(), b.by.uri.String()), cmp.Compare(a.n, b.n))
	})
	for len(writes) > 0 {
		n := 1
		for n < len(writes) && writes[n].path == writes[0].path {
			n++
		}
		list = append(list, collideOn(writes[:n])...)
		writes = writes[n:]
	}
	return list
}

// collideOn returns the collisions among the changes of one file, which are in the
// order of time.
func collideOn(writes []write) (list []Collision) {
	closest := map[[2]string]Collision{} // by the URIs of both
	latest := map[string]write{}         // by URI
	for _, b := range writes {
		uri := b.by.uri.String()
		for other, a := range latest {
			if other == uri || !a.by.activeAt(b.at) || !b.by.activeAt(a.at) {
				continue
			}
			pair := [2]string{min(uri, other), max(uri, other)}
			if old, ok := closest[pair]; !ok || b.at.Sub(a.at) < old.Second.At.Sub(old.First.At) {
				closest[pair] = Collision{a.path, a.change(), b.change()}
			}
		}
		latest[uri] = b
	}
	return slices.SortedFunc(maps.Values(closest), func(a, b Collision) int {
		return cmp.Or(a.First.At.Compare(b.First.At), a.Second.At.Compare(b.Second.At), strings.Compare(a.First.URI.String(), b.First.URI.String()), strings.Compare(a.Second.URI.String(), b.Second.URI.String()))
	})
}

func (w *writer) activeAt(t time.Time) bool {
	return (w.first.IsZero() || !t.Before(w.first)) && (w.last.IsZero() || !t.After(w.last))
}

func (w write) change() Change {
	uri := w.by.uri
	uri.From, uri.To = w.n, w.n
	return Change{uri, w.at}
}

// Collisions is Files.Collisions.
func (x *Index) Collisions(ctx context.Context, q Query) (c Collisions, err error) {
	if err := x.files.check(q); err != nil {
		return c, err
	}
	used, warnings, err := x.ask(ctx, 0, func(a answer) error {
		writes, err := a.writes(ctx, q)
		c.Collisions = collide(writes)
		return err
	})
	if err == nil && !used {
		c, err = x.files.Collisions(ctx, q)
	}
	c.Warnings = append(c.Warnings, warnings...)
	return c, err
}

// writes returns the changes of files that several threads changed.
func (a answer) writes(ctx context.Context, q Query) (writes []write, err error) {
	c, _, err := a.where(ctx, Query{Providers: q.Providers})
	if err != nil {
		return nil, err
	}
	rows, err := a.QueryContext(ctx, `SELECT w.path, w.n, w.at, t.id, t.uri, t.started, t.ended FROM touches w JOIN threads t ON t.id = w.thread
		WHERE w.access = 2 AND w.at <> 0 AND w.path IN (SELECT path FROM touches WHERE access = 2 GROUP BY path HAVING count(DISTINCT thread) > 1) AND `+c.String(), c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[int64]*writer{}
	for rows.Next() {
		var w write
		var at, id, started, ended int64
		var uri string
		if err := rows.Scan(&w.path, &w.n, &at, &id, &uri, &started, &ended); err != nil {
			return nil, err
		}
		if w.at = stored(at); !q.selectsChange(w.path, w.at) {
			continue
		}
		if known[id] == nil {
			known[id] = &writer{first: stored(started), last: stored(ended)}
			if known[id].uri, err = thread.ParseURI(uri); err != nil {
				return nil, err
			}
		}
		w.by = known[id]
		writes = append(writes, w)
	}
	return writes, rows.Err()
}

// nanos returns a time as it is stored, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func stored(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}
