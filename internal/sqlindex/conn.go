package sqlindex

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"iter"
	"strings"

	"modernc.org/sqlite"
)

// A conn is one connection with its prepared statements. It calls the driver
// directly: the pool of package database/sql costs a query as much as SQLite
// itself does.
//
// It checks whether the context has ended before each statement and between
// rows. Watching it during a statement would cost two goroutines each time, and
// statements are short.
type conn struct {
	driver.Conn
	prepared map[string]statement
}

// A statement is what the driver prepares.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (x *Index) borrow(ctx context.Context) (*conn, error) {
	x.mu.Lock()
	if n := len(x.idle); n > 0 {
		c := x.idle[n-1]
		x.idle = x.idle[:n-1]
		x.mu.Unlock()
		return c, nil
	}
	x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := new(sqlite.Driver).Open(x.source)
	if err != nil {
		return nil, err
	}
	return &conn{c, map[string]statement{}}, nil
}

func (x *Index) giveBack(c *conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		c.close()
		return
	}
	x.idle = append(x.idle, c)
}

// close closes the connection and rolls back its transaction.
func (c *conn) close() error {
	for _, stmt := range c.prepared {
		stmt.Close()
	}
	return c.Conn.Close()
}

func (c *conn) prepare(ctx context.Context, query string) (statement, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stmt, ok := c.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := c.Prepare(query)
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

func (c *conn) exec(ctx context.Context, query string, args ...any) error {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	values, err := named(args)
	if err == nil {
		_, err = stmt.ExecContext(context.Background(), values)
	}
	return err
}

// one calls scan with the only row of a query, and reports whether there was
// one.
func (c *conn) one(ctx context.Context, query string, args []any, scan func(*row)) (found bool, err error) {
	for r, err := range c.each(ctx, query, args...) {
		if err != nil {
			return false, err
		}
		scan(r)
		return r.err == nil, r.err
	}
	return false, nil
}

// each yields the rows of a query. A row is valid until the next one.
func (c *conn) each(ctx context.Context, query string, args ...any) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
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
		r := &row{values: make([]driver.Value, len(rows.Columns()))}
		for {
			err := rows.Next(r.values)
			if errors.Is(err, io.EOF) {
				return
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(nil, err)
				return
			}
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

// A row is one row of a result, whose values are taken in order. A value of
// another type than the stored one means that the file was altered.
type row struct {
	values []driver.Value
	taken  int
	err    error
}

func (r *row) text() string {
	v, ok := r.values[r.taken].(string)
	return took(r, v, ok)
}

func (r *row) integer() int64 {
	v, ok := r.values[r.taken].(int64)
	return took(r, v, ok)
}

func (r *row) blob() []byte {
	v, ok := r.values[r.taken].([]byte)
	return took(r, v, ok)
}

func took[V any](r *row, v V, ok bool) V {
	if r.taken++; !ok && r.err == nil {
		r.err = damaged("column %d of a row was altered", r.taken)
	}
	return v
}

// atOnce is how many values a query that looks up several takes.
const atOnce = 64

// among is the end of a query for several values: a list of atOnce
// placeholders.
var among = " IN (?" + strings.Repeat(",?", atOnce-1) + ")"

// portions yields the values in slices of atOnce. A shorter slice is filled up
// with its last value.
func portions(values []string) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for len(values) > 0 {
			n := min(len(values), atOnce)
			args := make([]any, atOnce)
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
