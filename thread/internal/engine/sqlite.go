package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread/internal/sqlsnap"
)

// A Database is the path of a SQLite database of a tool. It is opened for each query,
// with the committed part of its write-ahead log, and nothing is written.
type Database string

// A Table is what is read of a table. A row becomes a JSON object of the columns; a
// column that is JSON is a string in it.
type Table struct {
	Name  string
	Need  []string // columns without which the database is not supported
	Want  []string // further columns, which may be missing
	Where string   // condition, "" for all rows
	Order string   // expressions, "" for any order
	IDs   string   // query for the row IDs in order, if Where and Order do not select them
}

// Each calls use with the rows of a table. A database without tables has no rows. The
// error is NotFound if there is no file, Unsupported if the table is missing, else
// Unavailable.
func (d Database) Each(ctx context.Context, t Table, args []any, use func(row jsonl.Value)) error {
	db, columns, err := d.open(ctx, t)
	if err != nil || columns == nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT "+object(columns)+" FROM "+t.Name+t.clauses(), args...)
	if err != nil {
		return d.unreadable(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row sql.NullString
		if err := rows.Scan(&row); err != nil {
			return d.unreadable(err)
		}
		use(jsonl.Value(row.String))
	}
	if err := rows.Err(); err != nil {
		return d.unreadable(err)
	}
	return nil
}

// Rows is the source of the rows of a table. They are read one by one, so that the
// table may be larger than memory.
func (d Database) Rows(t Table, args ...any) Source {
	return func(ctx context.Context, s *Scan, use func(int, jsonl.Value) bool) error {
		facts := &s.Facts
		db, columns, err := d.open(ctx, t)
		if err != nil || columns == nil {
			return err
		}
		defer db.Close()
		err = d.rows(ctx, db, t, columns, args, s, use)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			facts.Partial = true
			facts.Warn("the database is damaged: %v", err)
		case db.Changed():
			facts.Warn("the database was modified while it was read: read it again")
		}
		if db.Unfinished() {
			facts.Warn("a write to the database is in progress or was interrupted: part of it may be visible")
		}
		return nil
	}
}

func (d Database) rows(ctx context.Context, db *sqlsnap.DB, t Table, columns []string, args []any, s *Scan,
	use func(int, jsonl.Value) bool) error {
	facts := &s.Facts
	ids, err := rowIDs(ctx, db, t, args)
	if err != nil {
		return err
	}
	one, err := db.PrepareContext(ctx, "SELECT "+object(columns)+" FROM "+t.Name+" WHERE rowid = ?")
	if err != nil {
		return err
	}
	defer one.Close()
	omitted := 0
	for i, id := range ids {
		var row sql.NullString
		if err := one.QueryRowContext(ctx, id).Scan(&row); err != nil {
			return err
		}
		facts.Lines++
		if !row.Valid {
			omitted++
			continue
		}
		s.parse(jsonl.Value(row.String))
		if !use(i+1, jsonl.Value(row.String)) {
			break
		}
	}
	if omitted > 0 {
		facts.Warn("%d rows are longer than %d MiB: left out", omitted, jsonl.MaxLine>>20)
	}
	return nil
}

// rowIDs returns the row IDs of a table in order, without the content of the rows.
func rowIDs(ctx context.Context, db *sqlsnap.DB, t Table, args []any) (ids []int64, err error) {
	rows, err := db.QueryContext(ctx, cmp.Or(t.IDs, "SELECT rowid FROM "+t.Name+t.clauses()), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (t Table) clauses() (s string) {
	if t.Where != "" {
		s += " WHERE " + t.Where
	}
	if t.Order != "" {
		s += " ORDER BY " + t.Order
	}
	return s
}

// open opens the database and returns the columns of the table that are read, none if
// the database is new and has no tables.
func (d Database) open(ctx context.Context, t Table) (*sqlsnap.DB, []string, error) {
	db, err := sqlsnap.Open(ctx, string(d))
	if err != nil {
		return nil, nil, d.unreadable(err)
	}
	columns, err := d.columns(ctx, db, t)
	if err != nil || columns == nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, columns, nil
}

func (d Database) columns(ctx context.Context, db *sqlsnap.DB, t Table) (columns []string, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	has, err := db.Columns(ctx, t.Name)
	if err != nil {
		return nil, d.unreadable(err)
	}
	for _, c := range t.Need {
		if !slices.Contains(has, c) {
			return nil, handoff.E("read threads", string(d), handoff.Unsupported,
				fmt.Errorf("missing table %s with column %s", t.Name, c),
				handoff.Advice("the version of the program may not be supported"))
		}
	}
	for _, c := range t.Want {
		if slices.Contains(has, c) {
			columns = append(columns, c)
		}
	}
	return append(slices.Clone(t.Need), columns...), nil
}

// object returns an expression for a row as a JSON object, which is null if the row is
// too long.
func object(columns []string) string {
	var members, sizes []string
	for _, c := range columns {
		members = append(members,
			fmt.Sprintf("'%[1]s', CASE typeof(%[1]s) WHEN 'blob' THEN CAST(%[1]s AS TEXT) ELSE %[1]s END", c))
		sizes = append(sizes, fmt.Sprintf("coalesce(octet_length(%s), 0)", c))
	}
	return fmt.Sprintf("CASE WHEN %s <= %d THEN json_object(%s) END", strings.Join(sizes, " + "), jsonl.MaxLine,
		strings.Join(members, ", "))
}

// unreadable returns an error for the database, unless err has a kind.
func (d Database) unreadable(err error) error { return UnreadableDatabase(string(d), err) }

// UnreadableDatabase returns the error for a database that can't be read: NotFound if
// it does not exist, else Unavailable. An error that has a kind, or is that of a
// context, stays as it is.
func UnreadableDatabase(name string, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	hint := "if the tool is running, try again; otherwise check the database with the tool"
	kind := handoff.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind, hint = handoff.NotFound, ""
	}
	return handoff.E("read threads", name, kind, err, handoff.Advice(hint))
}

// View opens the database once and calls use with a function that returns the first
// value of a query, nil if it has no row or is longer than a line may be.
func (d Database) View(ctx context.Context, use func(get func(query string, args ...any) ([]byte, error)) error) error {
	db, err := sqlsnap.Open(ctx, string(d))
	if err != nil {
		return d.unreadable(err)
	}
	defer db.Close()
	return use(func(query string, args ...any) (b []byte, err error) {
		err = db.QueryRowContext(ctx, query, args...).Scan(&b)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return b, err
	})
}
