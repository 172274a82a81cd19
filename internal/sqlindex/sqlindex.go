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
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// An Index is a handoff.Index in a SQLite database. It is safe for several
// goroutines; Close it when done.
//
// An error of the database itself, as opposed to one of the query, is an
// *Error.
type Index struct {
	file   string
	source string // as the driver names the file
	log    string

	writing sync.Mutex // one writer at a time; the others would only poll

	mu     sync.Mutex
	idle   []*conn
	closed bool

	pending []handoff.Record // of a preview
	parent  *Index           // likewise
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
	if err := checkFiles(file); err != nil {
		return nil, err
	}
	source := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", waitFor.Milliseconds()), "synchronous(NORMAL)", "cache_size(-16000)",
	}}.Encode()}
	x := &Index{file: file, source: source.String(), log: log}
	if err := x.ready(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// OpenMemory opens an empty index in memory, which no file or other process
// shares. It needs no writable directory.
func OpenMemory(ctx context.Context) (*Index, error) {
	name := fmt.Sprintf("/handoff-%d", memories.Add(1))
	x := &Index{source: "file:" + name + "?vfs=memdb"}
	if err := x.ready(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// memories numbers the indexes in memory of this process.
var memories atomic.Int64

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
	x.mu.Lock()
	defer x.mu.Unlock()
	defer syncDeleted(x.file)()
	var errs []error
	for _, c := range x.idle {
		errs = append(errs, c.close())
	}
	x.idle, x.closed = nil, true
	return errors.Join(errs...)
}

// A Position is the last record that an index has applied.
type Position struct {
	Seq handoff.Seq // 0 for none
	ID  string
}

// Position returns the last record that the index has applied.
func (x *Index) Position(ctx context.Context) (p Position, err error) {
	err = x.read(ctx, func(c *conn) error {
		p, err = c.position(ctx, x.log)
		return err
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
	return x.write(ctx, done, func(c *conn) error {
		p, err := c.position(ctx, x.log)
		if err != nil {
			return err
		}
		fresh, err := fold.Unapplied(p.Seq, records)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if err := applyAll(ctx, c, fresh); err != nil {
			return err
		}
		return c.exec(ctx, `UPDATE place SET seq = ?, id = ?`, int64(last), records[len(records)-1].ID)
	})
}

func applyAll(ctx context.Context, c *conn, records []handoff.Record) error {
	k := newKeeper(ctx, c)
	if err := k.prefetch(records); err != nil {
		return err
	}
	for _, r := range records {
		if _, ok := r.Fact.(*handoff.Damaged); ok {
			if err := c.exec(ctx, `INSERT INTO damaged (seq) VALUES (?)`, int64(r.Seq)); err != nil {
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

// Reset empties the index, unless it has left the given position.
func (x *Index) Reset(ctx context.Context, from Position) error {
	moved := func(p Position) bool { return p != from }
	return x.write(ctx, moved, func(c *conn) error {
		if p, err := c.position(ctx, x.log); err != nil || moved(p) {
			return err
		}
		return c.create(ctx, x.log)
	})
}

// read runs do on one snapshot of the database.
func (x *Index) read(ctx context.Context, do func(*conn) error) error {
	if x.parent != nil {
		return x.preview(ctx, do)
	}
	return x.transact(ctx, "BEGIN", do)
}

// write runs do under the write lock, all or none of it. While another process
// has the lock, write ends as soon as the index has reached a position that is
// enough, or when it makes no progress.
func (x *Index) write(ctx context.Context, enough func(Position) bool, do func(*conn) error) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	var seen Position
	for i := 1; ; i++ {
		err := x.transact(ctx, "BEGIN IMMEDIATE", do)
		if !busy(err) {
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

func (x *Index) transact(ctx context.Context, begin string, do func(*conn) error) error {
	c, err := x.borrow(ctx)
	if err != nil {
		return wrapError(ctx, err)
	}
	if err := c.exec(ctx, begin); err != nil {
		c.close()
		return wrapError(ctx, err)
	}
	err = do(c)
	if err == nil {
		err = c.exec(ctx, "COMMIT")
	}
	if err == nil {
		x.giveBack(c)
		return nil
	}
	if c.exec(context.WithoutCancel(ctx), "ROLLBACK") != nil {
		c.close()
	} else {
		x.giveBack(c)
	}
	return wrapError(ctx, err)
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
	return &Error{Damaged: isDamage(code(err)), Locked: busy(err), Err: err}
}

// code returns the primary result code of a SQLite error, 0 for others.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

func busy(err error) bool { return code(err) == lib.SQLITE_BUSY || code(err) == lib.SQLITE_LOCKED }

// isDamage reports whether a code means that the file is damaged. The statements
// of this package are correct, so a syntax error means a damaged schema.
func isDamage(code int) bool {
	switch code {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_ERROR,
		lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_SCHEMA, lib.SQLITE_INTERNAL, lib.SQLITE_RANGE:
		return true
	}
	return false
}
