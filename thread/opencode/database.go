package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
	"github.com/agent-handoff/handoff/thread/internal/sqlsnap"
)

// A sqlite is the path of a database, the store since version 1.2. It is opened for
// each query, so that the result is consistent.
type sqlite string

// open opens the database, checks that it has the tables of this tool, and returns
// the columns of session. A new database has no tables and returns no columns.
func (d sqlite) open(ctx context.Context) (*sqlsnap.DB, []string, error) {
	db, err := sqlsnap.Open(ctx, string(d))
	if err != nil {
		return nil, nil, d.unreadable(err)
	}
	columns, err := d.check(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(d.unreadable(err), db.Close())
	}
	return db, columns, nil
}

func (d sqlite) check(ctx context.Context, db *sqlsnap.DB) ([]string, error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	var columns []string
	for table, need := range map[string][]string{
		"session": {"id"}, "message": {"id", "session_id", "data"}, "part": {"id", "message_id", "session_id", "data"},
	} {
		has, err := db.Columns(ctx, table)
		if err != nil {
			return nil, err
		}
		for _, c := range need {
			if !slices.Contains(has, c) {
				return nil, handoff.E("read threads", string(d), handoff.Unsupported,
					fmt.Errorf("missing table %s with column %s", table, c),
					handoff.Advice("the version of the program may not be supported"))
			}
		}
		if table == "session" {
			columns = has
		}
	}
	return columns, nil
}

// unreadable returns an error for the database file, unless err has a kind.
func (d sqlite) unreadable(err error) error { return engine.UnreadableDatabase(string(d), err) }

// sessions returns the sessions with a value in a column, all if column is "". It
// repeats the query if the database was modified.
func (d sqlite) sessions(ctx context.Context, column, value string) (list []*session, err error) {
	for range maxAttempts {
		db, columns, failed := d.open(ctx)
		if failed != nil {
			return nil, failed
		}
		list, err = d.query(ctx, db, columns, column, value)
		changed := db.Changed()
		if err = errors.Join(err, db.Close()); !changed || ctx.Err() != nil {
			break
		}
	}
	return list, err
}

func (d sqlite) query(ctx context.Context, db *sqlsnap.DB, columns []string, column, value string) (list []*session,
	err error) {
	if columns == nil || column != "" && !slices.Contains(columns, column) {
		return nil, nil
	}
	query, args := "SELECT "+fields(columns)+" FROM session", []any(nil)
	if column != "" {
		query, args = query+" WHERE "+column+" = ?", []any{value}
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, d.unreadable(err)
	}
	defer rows.Close()
	for rows.Next() {
		s := &session{store: d, source: string(d)}
		var revert string
		if err := rows.Scan(&s.id, &s.parent, &s.title, &s.dir, &s.version, &s.agent, &s.created, &s.updated, &s.archived,
			&revert); err != nil {
			return list, d.unreadable(err)
		}
		s.reverted = jsonl.Value(revert).Get("messageID").Text()
		if db.Unfinished() {
			s.warnings = append(s.warnings,
				"a write to the database is in progress or was interrupted: part of it may be visible")
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return list, d.unreadable(err)
	}
	return list, nil
}

// fields returns the columns of a session. Missing ones are replaced by constants.
func fields(columns []string) string {
	var list []string
	for _, c := range []string{"id", "parent_id", "title", "directory", "version", "agent", "time_created", "time_updated",
		"time_archived", "revert"} {
		kind, none := "TEXT", "''"
		if strings.HasPrefix(c, "time_") {
			kind, none = "INTEGER", "0"
		}
		if !slices.Contains(columns, c) {
			list = append(list, none)
			continue
		}
		list = append(list, fmt.Sprintf("coalesce(CAST(%s AS %s), %s)", c, kind, none))
	}
	return strings.Join(list, ", ")
}

func (d sqlite) find(ctx context.Context, id string) (*session, error) {
	list, err := d.sessions(ctx, "id", id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

func (d sqlite) all(ctx context.Context) ([]*session, error) { return d.sessions(ctx, "", "") }

func (d sqlite) children(ctx context.Context, id string) ([]*session, error) {
	return d.sessions(ctx, "parent_id", id)
}

// A row identifies a message or part.
type row struct {
	id      string
	created int64
	size    int64
	parts   []row
}

func (d sqlite) messages(ctx context.Context, s *session, damaged func(string), yield func(message) error) error {
	db, columns, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if columns == nil {
		return nil
	}
	list, err := index(ctx, db, s.id)
	if err == nil {
		err = d.content(ctx, db, s.id, list, yield)
	}
	var stop *stopped
	switch {
	case errors.As(err, &stop):
		return stop.error
	case ctx.Err() != nil:
		return ctx.Err()
	case db.Changed():
		return errChanged
	case err != nil:
		damaged("the database is damaged: " + err.Error())
	}
	return nil
}

// errChanged is the error for a database that was modified while it was read, so
// that the result may be inconsistent.
var errChanged = errors.New("the database was modified while it was read: read it again")

// maxAttempts is how often a database that is being modified is read.
const maxAttempts = 3

// index returns the messages of a session and their parts, in order, without their
// content, which may be larger than memory.
func index(ctx context.Context, db *sqlsnap.DB, session string) ([]row, error) {
	messages, err := scan(ctx, db, "message", "''", session)
	if err != nil {
		return nil, err
	}
	parts, err := scan(ctx, db, "part", "CAST(message_id AS TEXT)", session)
	if err != nil {
		return nil, err
	}
	for i := range messages[""] {
		m := &messages[""][i]
		m.parts = parts[m.id]
	}
	return messages[""], nil
}

// scan returns the rows of a table by owner, in order.
func scan(ctx context.Context, db *sqlsnap.DB, table, owner, session string) (map[string][]row, error) {
	columns, err := db.Columns(ctx, table)
	if err != nil {
		return nil, err
	}
	created := "0"
	if slices.Contains(columns, "time_created") {
		created = "coalesce(CAST(time_created AS INTEGER), 0)"
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT CAST(id AS TEXT), %s, %s, octet_length(data) FROM %s WHERE "+
		"session_id = ?", owner, created, table), session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[string][]row{}
	for rows.Next() {
		var r row
		var id, owner sql.NullString
		var size sql.NullInt64
		if err := rows.Scan(&id, &owner, &r.created, &size); err != nil {
			return nil, err
		}
		r.id, r.size = id.String, size.Int64
		list[owner.String] = append(list[owner.String], r)
	}
	for _, of := range list {
		order.Sort(of, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
		})
	}
	return list, rows.Err()
}

// stopped is an error of yield.
type stopped struct{ error }

func (d sqlite) content(ctx context.Context, db *sqlsnap.DB, session string, list []row,
	yield func(message) error) error {
	size := int64(0)
	for _, r := range list {
		size += r.size
		for _, p := range r.parts {
			size += p.size
		}
	}
	messages, err := newTable(ctx, db, "message", session, size)
	if err != nil {
		return err
	}
	defer messages.one.Close()
	parts, err := newTable(ctx, db, "part", session, size)
	if err != nil {
		return err
	}
	defer parts.one.Close()
	for _, r := range list {
		m := message{id: r.id, created: r.created}
		if m.data, err = messages.load(ctx, r, &m.omitted); err != nil {
			return err
		}
		for _, p := range r.parts {
			data, err := parts.load(ctx, p, &m.omitted)
			if err != nil {
				return err
			}
			m.parts = append(m.parts, data)
		}
		if err := yield(m); err != nil {
			return &stopped{err}
		}
	}
	return nil
}

// A table reads the data of a session's rows.
type table struct {
	all map[string][]byte // by ID; nil if it is too large or can't be read
	one *sql.Stmt         // reads a row by ID
}

// maxAtOnce is the size up to which all rows of a session are read at once, which is
// much faster than row by row.
const maxAtOnce = 8 << 20

func newTable(ctx context.Context, db *sqlsnap.DB, name, session string, size int64) (t table, err error) {
	if t.one, err = db.PrepareContext(ctx, "SELECT data FROM "+name+" WHERE id = ?"); err != nil || size > maxAtOnce {
		return t, err
	}
	rows, err := db.QueryContext(ctx, "SELECT CAST(id AS TEXT), data FROM "+name+" WHERE session_id = ?", session)
	if err != nil {
		return t, nil // load reads row by row
	}
	defer rows.Close()
	all := map[string][]byte{}
	for rows.Next() {
		var id sql.NullString
		var data []byte
		if rows.Scan(&id, &data) != nil {
			return t, nil
		}
		all[id.String] = data
	}
	if rows.Err() == nil {
		t.all = all
	}
	return t, nil
}

// load reads the data of a row. Rows that are too long are counted in omitted.
func (t table) load(ctx context.Context, r row, omitted *int) (data jsonl.Value, err error) {
	if r.size > jsonl.MaxLine {
		*omitted++
		return nil, nil
	}
	if data, ok := t.all[r.id]; ok {
		return data, nil
	}
	var b []byte
	err = t.one.QueryRowContext(ctx, r.id).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("a row of the table's index is missing")
	}
	return b, err
}

// Extract implements thread.Extractor.
func (r *reader) Extract(ctx context.Context, path string, edit thread.Edit) error {
	id := []any{r.session.id}
	return engine.Part{Database: engine.Database(r.session.source), Rows: []engine.Rows{
		{Table: "session", Key: "id", Where: "id = ?", Args: id},
		{Table: "message", Key: "id", Where: "session_id = ?", Args: id},
		{Table: "part", Key: "id", Where: "session_id = ?", Args: id},
	}}.Extract(ctx, path, edit)
}
