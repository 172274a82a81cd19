// Package localstate keeps what a workspace has on this machine beside its log:
// the runtime directory, which the first write creates, and the index, a SQLite
// database. The index is derived from the log, so callers never see the fault of a
// file: one that is damaged is removed and filled again.
package localstate

import (
	"context"
	"errors"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// FileName is the file name of an index.
const FileName = "index.db"

// An Index is the index of a log in its place on this machine. It is safe for concurrent use by
// several goroutines and, in a file, by several processes.
type Index struct {
	*sqlindex.Index
	place *place
}

var (
	_ handoff.Index       = (*Index)(nil)
	_ handoff.TargetCache = (*Index)(nil)
)

// NewIndex returns the index of the log of a memory. It opens nothing: its place is chosen by the
// first question. The possible ones are the runtime directory and the cache that getenv names.
// progress and warn may be nil.
func NewIndex(m *Memory, runtime string, getenv func(string) string, progress func(done, total handoff.Seq),
	warn func(string)) *Index {
	p := &place{log: m.log, memory: m, runtime: runtime, dirs: directories(runtime, getenv), warn: warn,
		progress: &progressOf{log: m.log, report: progress}}
	return &Index{sqlindex.In(p), p}
}

// Apply implements handoff.Index.
func (x *Index) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	err := x.Index.Apply(ctx, records...)
	if errors.Is(err, handoff.Conflict) { // another process emptied the index meanwhile
		err = handoff.CatchUp(ctx, x.place.log, x.Index)
	}
	if err == nil {
		x.place.progress.reached(ctx, records[len(records)-1].Seq)
	}
	return err
}

// Search searches the records and the text of bodies, which body returns: once
// for each artifact, when it was published since the last search.
//
// Kinds: Invalid (the query), Unavailable, and those of body.
func (x *Index) Search(ctx context.Context, q sqlindex.Query,
	body func(handoff.Artifact) (string, error)) (found []sqlindex.Match, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	reached := func(done handoff.Seq) { x.place.progress.reached(ctx, done) }
	err = x.Do(ctx, func(at *sqlindex.Index) error {
		if err := at.IndexText(ctx, body, reached); err != nil {
			return err
		}
		found, err = at.Search(ctx, q)
		return err
	})
	return found, err
}

// Verify compares the log with what this machine knows of it: the index, and what it
// remembers. Kinds: Corrupt (the log has lost records), and those of the log.
func (x *Index) Verify(ctx context.Context) error {
	nothing := func(*sqlindex.Index) error { return nil }
	if err := x.Do(ctx, nothing); err != nil && !isOffline(x.place.log) {
		return err
	}
	return x.place.memory.verify(ctx)
}

// Accept remembers the log as it is now, also if it has lost records. A repair has
// emptied the index.
func (x *Index) Accept(ctx context.Context) error { return x.place.memory.accept(ctx) }

// progressOf reports how far an index has caught up with a log, if the log knows its end.
type progressOf struct {
	log    handoff.Log
	report func(done, total handoff.Seq) // nil for nothing

	mu    sync.Mutex
	total handoff.Seq // the newest record that is known
}

func (p *progressOf) reached(ctx context.Context, done handoff.Seq) {
	log, ok := p.log.(handoff.Ender)
	if p.report == nil || !ok {
		return
	}
	p.mu.Lock()
	total := p.total
	p.mu.Unlock()
	if total < done {
		newest, err := log.Newest(ctx) // without p.mu: it may wait for an append that waits for the index
		if err != nil {
			return // the next reader of the log reports it
		}
		total = newest
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = max(p.total, total)
	p.report(done, p.total)
}

// LogID returns the ID of a log, "" if the log does not exist yet, and whether
// the log can have one.
func LogID(ctx context.Context, log handoff.Log) (id string, ok bool, err error) {
	i, ok := log.(handoff.Identifier)
	if !ok {
		return "", false, nil
	}
	id, err = i.ID(ctx)
	return id, true, err
}

// recordAt returns the record at a position of a log, and whether there is one.
func recordAt(ctx context.Context, log handoff.Log, seq handoff.Seq) (handoff.Record, bool, error) {
	for r, err := range log.Read(ctx, seq-1) {
		return r, err == nil, err
	}
	return handoff.Record{}, false, nil
}
