package localstate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/checkpoint"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// A place is where the index of a log is: in the first of some directories in which it can be
// opened, otherwise in memory. It is chosen once. If the file fails later and can't be filled again
// where it is, the index is in memory from then on.
type place struct {
	log      handoff.Log
	memory   *Memory
	runtime  string
	dirs     func(id string) []string // the possible directories of a log's index, best first
	progress *progressOf
	warn     func(string) // may be nil

	dir      string // the chosen one, "" for memory
	refilled bool   // the file failed once
}

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

// Queued implements sqlindex.Place.
func (p *place) Queued(ctx context.Context) ([]handoff.Record, error) {
	if q, ok := p.log.(queuer); ok {
		return q.Queued(ctx)
	}
	return nil, nil
}

// Open implements sqlindex.Place. Before the log exists, its index is an empty one, or one in memory
// if its first records are queued. The index of a log without an ID is in memory.
func (p *place) Open(ctx context.Context, fault *sqlindex.Error) (*sqlindex.Index, error) {
	id, hasID, err := LogID(ctx, p.log)
	if err != nil {
		return nil, err
	}
	p.memory.identify(id)
	switch {
	case !hasID:
		return p.inMemory(ctx)
	case fault != nil:
		return p.again(ctx, id, fault)
	case id != "":
		return p.choose(ctx, id)
	}
	queued, err := p.Queued(ctx)
	if err != nil {
		return nil, err
	}
	if len(queued) == 0 {
		return sqlindex.Empty(), nil
	}
	return p.inMemory(ctx)
}

// choose opens the index in the first directory that can have it.
func (p *place) choose(ctx context.Context, id string) (*sqlindex.Index, error) {
	dirs := p.dirs(id)
	if isOffline(p.log) { // a new index can't be filled; what was only read before is in the cache
		slices.SortStableFunc(dirs, func(a, b string) int {
			return cmp.Compare(min(len(fileID(b)), 1), min(len(fileID(a)), 1))
		})
	}
	for _, p.dir = range dirs {
		at, err := p.openIn(ctx, p.dir, id)
		if err == nil || errors.Is(err, errLost) {
			return at, err
		}
		if isLocked(err) {
			p.warnLocked()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return p.inMemory(ctx)
}

// again opens the index after a fault of its file: in the same place if that was damage, which the
// index has for the first time.
func (p *place) again(ctx context.Context, id string, fault *sqlindex.Error) (*sqlindex.Index, error) {
	if fault.Locked {
		p.warnLocked()
	}
	fresh := fault.Moved // it has another schema
	if fault.Damaged && !p.refilled {
		fresh = discard(filepath.Join(p.dir, FileName)) == nil
	}
	if fresh && !p.refilled {
		p.refilled = true
		at, err := p.openIn(ctx, p.dir, id)
		if err == nil {
			err = p.catchUp(ctx, at)
		}
		if err == nil || errors.Is(err, errLost) {
			return at, err
		}
		if at != nil {
			at.Close()
		}
	}
	at, err := p.inMemory(ctx)
	if err == nil {
		err = p.catchUp(ctx, at)
	}
	return at, err
}

// catchUp applies the records that an index lacks, as far as the log can be reached.
func (p *place) catchUp(ctx context.Context, at *sqlindex.Index) error {
	err := handoff.CatchUp(ctx, p.log, at)
	if isOffline(p.log) && ctx.Err() == nil {
		return nil
	}
	return err
}

// inMemory opens the index in memory.
func (p *place) inMemory(ctx context.Context) (*sqlindex.Index, error) {
	p.dir = ""
	return sqlindex.FillMemory(ctx, p.read(ctx), func(done handoff.Seq) { p.progress.reached(ctx, done) })
}

// read returns what reads the log.
func (p *place) read(ctx context.Context) sqlindex.Reading {
	return func(after handoff.Seq) iter.Seq2[handoff.Record, error] { return p.log.Read(ctx, after) }
}

func isLocked(err error) bool {
	var fault *sqlindex.Error
	return errors.Is(err, durable.ErrLocked) || (errors.As(err, &fault) && fault.Locked)
}

// warnLocked warns that the index is left to another process. To fill another one may take a while.
func (p *place) warnLocked() {
	if p.warn != nil {
		p.warn("the index in " + p.dir + " is locked by another process, which may be stopped; another index is used")
	}
}

// openIn opens the index of the log with the given ID in a directory.
func (p *place) openIn(ctx context.Context, dir, id string) (*sqlindex.Index, error) {
	file := filepath.Join(dir, FileName)
	at, lock, err := p.openFilled(ctx, dir, id)
	if lock == nil {
		return nil, err
	}
	var fault *sqlindex.Error
	if errors.As(err, &fault) && fault.Damaged {
		lock.Close()
		if err := discard(file); err != nil {
			return nil, err
		}
		if at, lock, err = p.openFilled(ctx, dir, id); lock == nil {
			return nil, err
		}
	}
	if err == nil {
		if err = p.validate(ctx, at); err != nil {
			at.Close()
		}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	_ = identify(lock, dir) // the next process does it otherwise
	at.Hold(lock)
	return at, nil
}

// validate empties an index whose last record is not the one at that position of
// the log. An index with a position beyond the end of the log is an error: the log has
// lost records. The index is not changed then: nothing else may show what was lost.
func (p *place) validate(ctx context.Context, at *sqlindex.Index) error {
	last, err := at.Position(ctx)
	if err != nil || last.Seq == 0 {
		return err
	}
	r, found, err := recordAt(ctx, p.log, last.Seq)
	if err == nil && !found {
		refresh(p.log) // another process may have appended it, and indexed it, since the log was asked
		r, found, err = recordAt(ctx, p.log, last.Seq)
	}
	switch {
	case isOffline(p.log): // it is compared when the log can be reached
		return nil
	case err != nil:
		return err
	case !found:
		return lost(checkpoint.Point{Seq: last.Seq}, "it is missing, and the index knows it: "+last.ID)
	case r.ID != last.ID: // the memory decides whether it is the log that changed
		return at.Reset(ctx, last)
	}
	p.memory.confirm(last.Seq, last.ID)
	return nil
}
