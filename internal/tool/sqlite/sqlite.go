// Package sqlite calls the driver of SQLite directly: the pool of package
// database/sql costs a query as much as SQLite itself does.
package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// A DB is a database with the connections that are not in use. It is safe for
// several goroutines.
type DB struct {
	file   string // "" for none
	source string

	memory bool
	alone  sync.Mutex // held while the only connection to a database in memory is used

	mu     sync.Mutex
	idle   []*Conn
	closed bool
}

// New returns the database in a file, "" for a temporary one, that source names as the
// driver does. It opens nothing.
func New(file, source string) *DB { return &DB{file: file, source: source} }

// NewMemory returns a database in memory. It opens nothing.
func NewMemory() *DB { return &DB{source: ":memory:", memory: true} }

// Close closes the connections. Those in use are closed when their use ends.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer syncDeleted(d.file)()
	var errs []error
	for _, c := range d.idle {
		errs = append(errs, c.close())
	}
	d.idle, d.closed = nil, true
	return errors.Join(errs...)
}

// Use calls do with a connection.
func (d *DB) Use(ctx context.Context, do func(*Conn) error) error {
	if d.memory {
		d.alone.Lock()
		defer d.alone.Unlock()
	}
	c, err := d.borrow(ctx)
	if err != nil {
		return err
	}
	defer d.giveBack(c)
	return do(c)
}

// Transact calls do in a transaction that begin starts, and ends it as do does.
func (d *DB) Transact(ctx context.Context, begin string, do func(*Conn) error) error {
	if d.memory {
		d.alone.Lock()
		defer d.alone.Unlock()
	}
	c, err := d.borrow(ctx)
	if err != nil {
		return err
	}
	if err := c.Exec(ctx, begin); err != nil {
		c.close()
		return err
	}
	err = do(c)
	if err == nil {
		err = c.Exec(ctx, "COMMIT")
	}
	if err != nil && c.Exec(context.WithoutCancel(ctx), "ROLLBACK") != nil {
		c.close()
		return err
	}
	d.giveBack(c)
	return err
}

// A Conn is one connection with its prepared statements.
//
// It checks whether the context has ended before each statement and between
// rows. Watching it during a statement would cost two goroutines each time, and
// statements are short.
//
// A nil *Conn is one to a database without rows, which keeps nothing.
type Conn struct {
	driver   driver.Conn
	prepared map[string]statement
}

// A statement is what the driver prepares.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (d *DB) borrow(ctx context.Context) (*Conn, error) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		c := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		return c, nil
	}
	d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := new(sqlite.Driver).Open(d.source)
	if err != nil {
		return nil, err
	}
	return &Conn{c, map[string]statement{}}, nil
}

func (d *DB) giveBack(c *Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		c.close()
		return
	}
	d.idle = append(d.idle, c)
}

// On returns a connection that package database/sql also uses, one of both at a time.
// Release it before that connection is closed.
func On(c driver.Conn) *Conn { return &Conn{c, map[string]statement{}} }

// Release closes the prepared statements.
func (c *Conn) Release() {
	for _, stmt := range c.prepared {
		stmt.Close()
	}
	clear(c.prepared)
}

// close closes the connection and rolls back its transaction.
func (c *Conn) close() error {
	c.Release()
	return c.driver.Close()
}

func (c *Conn) prepare(ctx context.Context, query string) (statement, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stmt, ok := c.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := c.driver.Prepare(query)
	if err != nil {
		return nil, err
	}
	s, ok := stmt.(statement)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	c.prepared[query] = s
	return s, nil
}

// Exec executes a statement.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) error {
	if c == nil {
		return ctx.Err()
	}
	_, err := c.exec(ctx, query, args)
	return err
}

// Insert is Exec for a statement that inserts one row, whose ID it returns.
func (c *Conn) Insert(ctx context.Context, query string, args ...any) (id int64, err error) {
	done, err := c.exec(ctx, query, args)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}

func (c *Conn) exec(ctx context.Context, query string, args []any) (driver.Result, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	values, err := named(args)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), values)
}

// One calls scan with the only row of a query, and reports whether there was
// one.
func (c *Conn) One(ctx context.Context, query string, args []any, scan func(*Row)) (found bool, err error) {
	for r, err := range c.Each(ctx, query, args...) {
		if err != nil {
			return false, err
		}
		scan(r)
		return r.err == nil, r.Err()
	}
	return false, nil
}

// Rows counts the rows that queries of this process returned, and Queries the queries. Tests
// compare them: work must not grow with the archive, and no query is asked for each row.
var Rows, Queries atomic.Int64

// Each yields the rows of a query. A row is valid until the next one.
func (c *Conn) Each(ctx context.Context, query string, args ...any) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if c == nil {
			return
		}
		Queries.Add(1)
		stmt, err := c.prepare(ctx, query)
		if err != nil {
			yield(nil, err)
			return
		}
		values, err := named(args)
		if err != nil {
			yield(nil, err)
			return
		}
		rows, err := stmt.QueryContext(context.Background(), values)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		r := &Row{values: make([]driver.Value, len(rows.Columns()))}
		for {
			err := rows.Next(r.values)
			if errors.Is(err, io.EOF) {
				return
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(nil, err)
				return
			}
			Rows.Add(1)
			if r.taken = 0; !yield(r, nil) {
				return
			}
		}
	}
}

// named returns the values of a query's placeholders as the driver takes them.
func named(args []any) ([]driver.NamedValue, error) {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return values, nil
}

// A Row is one row of a result, whose values are taken in order. A value of
// another type than the stored one means that the file was altered.
type Row struct {
	values []driver.Value
	taken  int
	err    *Altered
}

// Text takes the next value.
func (r *Row) Text() string {
	v, ok := r.values[r.taken].(string)
	return took(r, v, ok)
}

// Integer takes the next value.
func (r *Row) Integer() int64 {
	v, ok := r.values[r.taken].(int64)
	return took(r, v, ok)
}

// Blob takes the next value.
func (r *Row) Blob() []byte {
	v, ok := r.values[r.taken].([]byte)
	return took(r, v, ok)
}

// Value returns the value of a column, from 0.
func (r *Row) Value(column int) any { return r.values[column] }

// Err returns the first error of taking a value, of type *Altered.
func (r *Row) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// An Altered is the error for a value of another type than the stored one.
type Altered struct{ Column int } // from 1

func (e *Altered) Error() string { return fmt.Sprintf("column %d of a row was altered", e.Column) }

func took[V any](r *Row, v V, ok bool) V {
	if r.taken++; !ok && r.err == nil {
		r.err = &Altered{r.taken}
	}
	return v
}

// AtOnce is how many values a query that looks up several takes.
const AtOnce = 64

// Among is the end of a query for several values: a list of AtOnce
// placeholders.
var Among = " IN (?" + strings.Repeat(",?", AtOnce-1) + ")"

// Portions yields the values in slices of AtOnce. A shorter slice is filled up
// with its last value.
func Portions(values []string) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for len(values) > 0 {
			n := min(len(values), AtOnce)
			args := make([]any, AtOnce)
			for i := range args {
				args[i] = values[min(i, n-1)]
			}
			if !yield(args) {
				return
			}
			values = values[n:]
		}
	}
}

// Code returns the primary result code of an error of SQLite, 0 for others.
func Code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// IsBusy reports whether another connection has a lock.
func IsBusy(err error) bool {
	return Code(err) == lib.SQLITE_BUSY || Code(err) == lib.SQLITE_LOCKED
}

// IsDamage reports whether an error means that the file is damaged. Statements are
// correct, so a syntax error means a damaged schema.
func IsDamage(err error) bool {
	switch Code(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_ERROR,
		lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_SCHEMA, lib.SQLITE_INTERNAL, lib.SQLITE_RANGE:
		return true
	}
	return errors.As(err, new(*Altered))
}
