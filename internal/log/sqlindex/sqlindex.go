// Package sqlindex keeps an index in a SQLite database.
//
// The database is derived from a log and contains nothing else: it may be
// deleted at any time. It contains no rule. Apply loads what fold.Apply asks
// for, runs the fold and stores what it changed; fold.View makes the views.
// There are columns only for what queries select by.
//
// Any number of processes share one database. Each call of Apply is one
// transaction that holds the write lock from its start, so it sees the records
// that another process applied in the meantime and does not apply them again.
package sqlindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// An Index is a handoff.Index in a SQLite database. It is safe for several
// goroutines; Close it when done.
//
// An error of the database itself, as opposed to one of the query, is an
// *Error.
type Index struct {
	db   *sqlite.DB
	file string
	log  string

	writing sync.Mutex // one writer at a time; the others would only poll

	empty bool // of a log that does not exist yet; there is no db

	// Of an index in a place, which has nothing else:
	place   Place
	opening sync.Mutex
	at      *Index // nil until the first question

	lock io.Closer // nil for none
}

var _ handoff.Index = (*Index)(nil)

// An Error is a fault of the database, which can't be used. Its contents are
// derived, so a caller answers from another index instead.
type Error struct {
	Damaged bool // the file or its contents are damaged
	Moved   bool // the database belongs to another log now
	Locked  bool // another process has the write lock and does not use it
	Err     error
}

func (e *Error) Error() string { return "index: " + e.Err.Error() }

// Unwrap makes the kind Unavailable and the reason visible.
func (e *Error) Unwrap() []error { return []error{handoff.Unavailable, e.Err} }

// damaged returns the error for contents that break their own rules.
func damaged(format string, args ...any) error {
	return &Error{Damaged: true, Err: fmt.Errorf(format, args...)}
}

// How long a writer waits for the write lock. After each wait it checks whether
// another process has done its work, or at least some.
const (
	waits   = 5
	waitFor = 250 * time.Millisecond
)

// Open opens the index of the log with the given ID in a file, which it creates
// if it is missing. An index of another schema is emptied. A file that is not an
// index of handoff is refused unchanged, as is a link or another irregular file.
// Its only errors are *Error and the context's.
func Open(ctx context.Context, file, log string) (*Index, error) {
	x, err := OpenCurrent(ctx, file, log)
	if IsFormer(err) {
		x, err = open(ctx, file, log, true)
	}
	return x, err
}

// OpenCurrent is Open, but leaves an index of another schema as it is: IsFormer reports that for
// its error.
func OpenCurrent(ctx context.Context, file, log string) (*Index, error) {
	return open(ctx, file, log, false)
}

// IsFormer reports whether an error means that an index has another schema.
func IsFormer(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Moved
}

func open(ctx context.Context, file, log string, empty bool) (*Index, error) {
	if err := checkFiles(file); err != nil {
		return nil, err
	}
	x := in(file, log, fmt.Sprintf("busy_timeout(%d)", waitFor.Milliseconds()), "synchronous(NORMAL)", cacheSize)
	if err := x.ready(ctx, empty); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// cacheSize limits the pages that are in memory to 16 MB.
const cacheSize = "cache_size(-16000)"

// in returns the index in a file with settings of its connections. It opens nothing.
func in(file, log string, pragmas ...string) *Index {
	source := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return &Index{db: sqlite.New(file, source.String()), file: file, log: log}
}

// checkFiles refuses files that SQLite must not open. A rollback journal is never
// left by an index, and SQLite would delete the file that a forged one names.
func checkFiles(file string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := plainfile.CheckOnlyName(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Error{Err: fmt.Errorf("%s: %w", filepath.Base(file+suffix), err)}
		}
	}
	if _, err := os.Lstat(file + "-journal"); !errors.Is(err, fs.ErrNotExist) {
		return damaged("it has a rollback journal")
	}
	return nil
}

// Close releases the database. Calls that have started are completed.
func (x *Index) Close() error {
	if x.place != nil {
		x.opening.Lock()
		defer x.opening.Unlock()
		if x.at == nil {
			return nil
		}
		at := x.at
		x.at = nil
		return at.Close()
	}
	if x.empty {
		return nil
	}
	err := x.db.Close()
	if x.lock != nil {
		err = errors.Join(err, x.lock.Close())
	}
	return err
}

// Hold has Close close lock after the database.
func (x *Index) Hold(lock io.Closer) { x.lock = lock }

// A Position is the last record that an index has applied.
type Position struct {
	Seq handoff.Seq // 0 for none
	ID  string
}

// Position returns the last record that the index has applied.
func (x *Index) Position(ctx context.Context) (p Position, err error) {
	err = x.Do(ctx, func(at *Index) error {
		if at.empty {
			p = Position{}
			return nil
		}
		return at.read(ctx, func(c *sqlite.Conn) error {
			p, err = position(ctx, c, at.log)
			return err
		})
	})
	return p, err
}

// Seq implements handoff.Index.
func (x *Index) Seq(ctx context.Context) (handoff.Seq, error) {
	p, err := x.Position(ctx)
	return p.Seq, err
}

// Apply implements handoff.Index.
func (x *Index) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	last := records[len(records)-1].Seq
	done := func(p Position) bool { return p.Seq >= last }
	return x.Do(ctx, func(at *Index) error {
		return at.write(ctx, done, func(c *sqlite.Conn) error {
			p, err := position(ctx, c, at.log)
			if err != nil {
				return err
			}
			fresh, err := fold.Unapplied(p.Seq, records)
			if err != nil || len(fresh) == 0 {
				return err
			}
			return advance(ctx, c, fresh)
		})
	})
}

// advance applies records and moves the position of the index to the last one.
func advance(ctx context.Context, c *sqlite.Conn, records []handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := applyAll(ctx, c, records); err != nil {
		return err
	}
	bytes := 0
	for _, r := range records {
		b, _ := r.JSON()
		bytes += len(b)
	}
	last := records[len(records)-1]
	return c.Exec(ctx, `UPDATE place SET seq = ?, id = ?, bytes = bytes + ?`, int64(last.Seq), last.ID, bytes)
}

func applyAll(ctx context.Context, c *sqlite.Conn, records []handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	k := newKeeper(ctx, c)
	if err := k.prefetch(records); err != nil {
		return err
	}
	for _, r := range records {
		if _, ok := r.Fact.(*handoff.Damaged); ok {
			if err := c.Exec(ctx, `INSERT INTO damaged (seq) VALUES (?)`, int64(r.Seq)); err != nil {
				return err
			}
			continue
		}
		if err := fold.Apply(k, r); err != nil {
			return err
		}
	}
	if err := k.flush(); err != nil {
		return err
	}
	return k.toRender(records[len(records)-1].Seq)
}

// Reset empties an index that has the database, unless it has left the given position.
func (x *Index) Reset(ctx context.Context, from Position) error {
	moved := func(p Position) bool { return p != from }
	return x.write(ctx, moved, func(c *sqlite.Conn) error {
		if p, err := position(ctx, c, x.log); err != nil || moved(p) {
			return err
		}
		return create(ctx, c, x.log, selecting())
	})
}

// read runs do on one snapshot of the database.
func (x *Index) read(ctx context.Context, do func(*sqlite.Conn) error) error {
	return x.Do(ctx, func(at *Index) error { return at.transact(ctx, "BEGIN", do) })
}

// write, of an index that has the database, runs do under the write lock, all or none of it. While another process
// has the lock, write ends as soon as the index has reached a position that is
// enough, or when it makes no progress.
func (x *Index) write(ctx context.Context, enough func(Position) bool, do func(*sqlite.Conn) error) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	var seen Position
	for i := 1; ; i++ {
		err := x.transact(ctx, "BEGIN IMMEDIATE", do)
		if !sqlite.IsBusy(err) {
			return err
		}
		p, readErr := x.Position(ctx)
		switch {
		case readErr == nil && enough(p):
			return nil
		case readErr == nil && p != seen:
			seen, i = p, 0
		case i == waits:
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (x *Index) transact(ctx context.Context, begin string, do func(*sqlite.Conn) error) error {
	if x.empty {
		return wrapError(ctx, do(nil))
	}
	return wrapError(ctx, x.db.Transact(ctx, begin, do))
}

// pause waits a little where SQLite itself does not wait.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// wrapError returns err as an *Error, unless it is the context's or has a kind.
func wrapError(ctx context.Context, err error) error {
	var known *Error
	var ours *handoff.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known), errors.As(err, &ours):
		return err
	}
	return &Error{Damaged: sqlite.IsDamage(err), Locked: sqlite.IsBusy(err), Err: err}
}
