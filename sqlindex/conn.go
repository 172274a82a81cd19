package sqlindex

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"
)

// A conn is one connection, and the statements that were prepared on it. It
// looks whether a context has ended before each statement and between rows: to
// watch it meanwhile would cost two goroutines a statement, and each is short.
type conn struct {
	*sql.Conn
	prepared map[string]*sql.Stmt
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
	c, err := x.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c, map[string]*sql.Stmt{}}, nil
}

func (x *Index) giveBack(c *conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.idle = append(x.idle, c)
}

// close gives the connection up, and whatever it was in the middle of.
func (c *conn) close() error {
	for _, stmt := range c.prepared {
		stmt.Close()
	}
	return c.Conn.Close()
}

func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stmt, ok := c.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := c.PrepareContext(context.WithoutCancel(ctx), query)
	if err == nil {
		c.prepared[query] = stmt
	}
	return stmt, err
}

func (c *conn) exec(ctx context.Context, query string, args ...any) error {
	stmt, err := c.prepare(ctx, query)
	if err == nil {
		_, err = stmt.ExecContext(context.WithoutCancel(ctx), args...)
	}
	return err
}

// one scans the only row of a query into dest, and reports whether there was
// one.
func (c *conn) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(context.WithoutCancel(ctx), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each yields the rows of a query, one after the other.
func (c *conn) each(ctx context.Context, query string, args ...any) iter.Seq2[*sql.Rows, error] {
	return func(yield func(*sql.Rows, error) bool) {
		stmt, err := c.prepare(ctx, query)
		if err != nil {
			yield(nil, err)
			return
		}
		rows, err := stmt.QueryContext(context.WithoutCancel(ctx), args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(rows, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// atOnce is how many values a query that looks up several takes.
const atOnce = 64

// among is the end of a query for several values: a list of as many
// placeholders as there are values in a portion.
var among = " IN (?" + strings.Repeat(",?", atOnce-1) + ")"

// portions yields the values, each portion filled up to its size with its
// last.
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
