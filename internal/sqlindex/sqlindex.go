// Package sqlindex keeps an index in a SQLite database.
//
// The database is derived from a log and holds nothing else: it may be deleted
// at any time. It knows no rule. Apply loads what handoff.Fold asks for, lets
// it fold, and stores what it changed; views come from handoff.View. Columns
// stand only for what queries select by.
//
// Any number of processes share one database. Each call of Apply is one
// transaction that holds the write lock from its beginning, so that records
// which another process applied meanwhile are seen, and not applied again.
package sqlindex

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// An Index is a handoff.Index in a SQLite database. It is safe for several
// goroutines; Close it when done.
//
// Every error that is the database's own, and not the question's, is a
// *Trouble.
type Index struct {
	source string // as the driver names the file
	log    string

	writing sync.Mutex // one writer at a time; the others would only poll

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

var _ handoff.Index = (*Index)(nil)

// Trouble says that a database can't be used. What it holds is derived, so a
// caller answers from another index instead.
type Trouble struct {
	Damaged bool // the file is at fault: it, or what it holds, is broken
	Moved   bool // it belongs to another log now
	Err     error
}

func (t *Trouble) Error() string { return "index: " + t.Err.Error() }

// Unwrap makes the kind Unavailable and the reason visible.
func (t *Trouble) Unwrap() []error { return []error{handoff.Unavailable, t.Err} }

// damaged returns the trouble of contents that break their own rules.
func damaged(format string, args ...any) error {
	return &Trouble{Damaged: true, Err: fmt.Errorf(format, args...)}
}

// The patience of a writer whose turn doesn't come: after each wait it looks
// whether another process has done its work.
const (
	waits   = 12
	waitFor = 250 * time.Millisecond
)

// Open opens the index of the log with the given identity in a file, which is
// made if it is missing. An index of another log, or of another schema, is
// emptied. Its only error is a *Trouble, or the context's.
func Open(ctx context.Context, file, log string) (*Index, error) {
	source := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", waitFor.Milliseconds()), "synchronous(NORMAL)", "cache_size(-16000)",
	}}.Encode()}
	x := &Index{source: source.String(), log: log}
	if err := x.ready(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close releases the database. What was asked before is answered first.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, c := range x.idle {
		errs = append(errs, c.close())
	}
	x.idle, x.closed = nil, true
	return errors.Join(errs...)
}

// A Place is how far an index has come.
type Place struct {
	Seq handoff.Seq // of the last record applied, 0 for none
	ID  string      // of that record
}

// Place returns how far the index has come.
func (x *Index) Place(ctx context.Context) (p Place, err error) {
	err = x.read(ctx, func(c *conn) error {
		p, err = c.place(ctx, x.log)
		return err
	})
	return p, err
}

// Seq implements handoff.Index.
func (x *Index) Seq(ctx context.Context) (handoff.Seq, error) {
	p, err := x.Place(ctx)
	return p.Seq, err
}

// Apply implements handoff.Index.
func (x *Index) Apply(ctx context.Context, records ...handoff.Record) error {
	if len(records) == 0 {
		return nil
	}
	last := records[len(records)-1].Seq
	done := func(p Place) bool { return p.Seq >= last }
	return x.write(ctx, done, func(c *conn) error {
		p, err := c.place(ctx, x.log)
		if err != nil {
			return err
		}
		fresh, err := handoff.Unapplied(p.Seq, records)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if err := fold(ctx, c, fresh); err != nil {
			return err
		}
		return c.exec(ctx, `UPDATE place SET seq = ?, id = ?`, int64(last), records[len(records)-1].ID)
	})
}

func fold(ctx context.Context, c *conn, records []handoff.Record) error {
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
		if err := handoff.Fold(k, r); err != nil {
			return err
		}
	}
	if err := k.flush(); err != nil {
		return err
	}
	return k.toRender(records[len(records)-1].Seq)
}

// Reset empties the index, unless it has moved on from the given place.
func (x *Index) Reset(ctx context.Context, from Place) error {
	moved := func(p Place) bool { return p != from }
	return x.write(ctx, moved, func(c *conn) error {
		if p, err := c.place(ctx, x.log); err != nil || moved(p) {
			return err
		}
		return c.create(ctx, x.log)
	})
}

// read runs do on one snapshot of the database.
func (x *Index) read(ctx context.Context, do func(*conn) error) error {
	return x.transact(ctx, "BEGIN", do)
}

// write runs do under the write lock, all or none of it. While the lock is
// another's, it ends as soon as the index has come to a place that will do.
func (x *Index) write(ctx context.Context, enough func(Place) bool, do func(*conn) error) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	for i := 1; ; i++ {
		err := x.transact(ctx, "BEGIN IMMEDIATE", do)
		if !busy(err) || i == waits {
			return err
		}
		if p, err := x.Place(ctx); err == nil && enough(p) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (x *Index) transact(ctx context.Context, begin string, do func(*conn) error) error {
	c, err := x.borrow(ctx)
	if err != nil {
		return trouble(ctx, err)
	}
	if err := c.exec(ctx, begin); err != nil {
		c.close()
		return trouble(ctx, err)
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
	return trouble(ctx, err)
}

// pause waits a little for what SQLite itself doesn't wait for.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// trouble returns err as Open's and the methods' callers know it.
func trouble(ctx context.Context, err error) error {
	var t *Trouble
	var ours *handoff.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &t), errors.As(err, &ours):
		return err
	}
	return &Trouble{Damaged: isDamage(code(err)), Err: err}
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

// isDamage reports whether a code says that the file is at fault. Our own
// statements are sound, so one that fails on its words found a broken schema.
func isDamage(code int) bool {
	switch code {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_ERROR,
		lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_SCHEMA, lib.SQLITE_INTERNAL, lib.SQLITE_RANGE:
		return true
	}
	return false
}
