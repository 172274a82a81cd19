package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
	"github.com/agent-handoff/handoff/thread/internal/sqlsnap"
)

// tables are the columns of the tables of a database, by name.
type tables map[string][]string

// needed are the columns without which a table can't be read.
var needed = tables{
	"session": {"id"}, "message": {"id", "session_id", "data"}, "part": {"id", "message_id", "session_id", "data"},
	"session_v2": {"id"}, "session_message": {"id", "session_id", "type", "seq", "data"},
}

// ignored are the tables that belong to a session and have no message of a model.
var ignored = []string{"session_context_epoch", "session_input", "session_share", "todo", "kilo_board",
	"kilo_board_message"}

// lacks returns the first missing table and column of those that a database with tables
// must have: one of sessions, and one of messages.
func (t tables) lacks() (table, column string) {
	if len(t) == 0 {
		return "", ""
	}
	var need []string
	for _, one := range [][]string{{"session", "session_v2"}, {"message", "session_message"}} {
		have := slices.DeleteFunc(slices.Clone(one), func(name string) bool { return t[name] == nil })
		if need = append(need, have...); len(have) == 0 {
			need = append(need, one[0])
		}
	}
	if t["message"] != nil || t["part"] != nil {
		need = append(need, "message", "part")
	}
	for _, table := range need {
		for _, column := range needed[table] {
			if !slices.Contains(t[table], column) {
				return table, column
			}
		}
	}
	return "", ""
}

// A snapshot is an open database.
type snapshot struct {
	*sqlsnap.DB
	tables tables
}

// columnsQuery returns the tables with the columns of those that may have sessions or
// messages; of others, which are most, one column without a name.
const columnsQuery = "SELECT m.name, coalesce(c.name, '') FROM sqlite_schema m LEFT JOIN pragma_table_xinfo(" +
	"iif(m.name LIKE '%session%' OR m.sql LIKE '%session%' OR m.sql LIKE '%directory%', m.name, '')) c " +
	"ON c.hidden = 0 " +
	"WHERE m.type = 'table' AND m.sql NOT LIKE 'create virtual%'"

// open opens a database, which must have the tables of this tool or none.
func open(ctx context.Context, path string) (*snapshot, error) {
	db, err := sqlsnap.Open(ctx, path)
	if err != nil {
		return nil, engine.UnreadableDatabase(path, err)
	}
	d := &snapshot{db, tables{}}
	err = d.each(ctx, func(scan func(...any) error) error {
		var table, column string
		err := scan(&table, &column)
		d.tables[table] = append(d.tables[table], column)
		return err
	}, columnsQuery)
	if table, column := d.tables.lacks(); err == nil && table != "" {
		err = handoff.E("read threads", path, handoff.Unsupported,
			fmt.Errorf("missing table %s with column %s", table, column),
			handoff.Advice("the version of the program may not be supported"))
	}
	if err != nil {
		return nil, errors.Join(engine.UnreadableDatabase(path, err), db.Close())
	}
	return d, nil
}

// each calls use with the rows of a query.
func (d *snapshot) each(ctx context.Context, use func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := d.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := use(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// text and number are expressions for columns, which may be missing.
func (t tables) text(table string, columns ...string) string {
	return t.expressions(table, "coalesce(CAST(%s AS TEXT), '')", "''", columns)
}

func (t tables) number(table string, columns ...string) string {
	return t.expressions(table, "coalesce(CAST(%s AS INTEGER), 0)", "0", columns)
}

func (t tables) expressions(table, format, missing string, columns []string) string {
	var list []string
	for _, c := range columns {
		if slices.Contains(t[table], c) {
			list = append(list, fmt.Sprintf(format, c))
		} else {
			list = append(list, missing)
		}
	}
	return strings.Join(list, ", ")
}

func (t tables) has(table string, columns ...string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(t[table], c) })
}

// sums are the columns of a session with the tokens of all its requests.
var sums = []string{"tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write"}

// maxAttempts is how often a database that is being modified is read.
const maxAttempts = 3

// inDatabase returns the sessions of a database.
func inDatabase(ctx context.Context, path string) (list []*session, err error) {
	for range maxAttempts {
		db, failed := open(ctx, path)
		if failed != nil {
			return nil, failed
		}
		list, err = db.sessions(ctx, path)
		changed := db.Changed()
		if err = errors.Join(err, db.Close()); !changed || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = engine.UnreadableDatabase(path, err)
	}
	return list, err
}

// sessions returns the sessions of both versions. Version 2 has those of version 1, too,
// once it has imported them.
func (d *snapshot) sessions(ctx context.Context, path string) (list []*session, err error) {
	byID := map[string]*session{}
	for _, table := range []string{"session_v2", "session"} {
		if d.tables[table] == nil {
			continue
		}
		summed, query := d.tables.has(table, sums...) && table == "session_v2", d.tables.metadata(table)
		if summed {
			query += ", " + d.tables.number(table, sums...) +
				", " + d.tables.expressions(table, "coalesce(CAST(%s AS REAL), 0.0)", "0.0", []string{"cost"})
		}
		err = errors.Join(err, d.each(ctx, func(scan func(...any) error) error {
			s := &session{path: path, tables: d.tables}
			if err := s.scan(scan, summed); err != nil {
				return err
			}
			if known := byID[s.id]; known != nil { // it may have been continued in version 1
				known.updated = max(known.updated, s.updated)
			} else {
				byID[s.id] = s
				list = append(list, s)
			}
			return nil
		}, "SELECT "+query+" FROM "+table))
	}
	return list, errors.Join(err, d.unknown(ctx, path, byID))
}

// unknown returns an error if there are sessions in a table that is like those of sessions,
// and not known.
func (d *snapshot) unknown(ctx context.Context, path string, known map[string]*session) (err error) {
	for table := range d.tables {
		if needed[table] != nil || !d.tables.has(table, "id", "title", "directory") {
			continue
		}
		n := 0
		err = errors.Join(err, d.each(ctx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			if known[id] == nil {
				n++
			}
			return err
		}, "SELECT "+d.tables.text(table, "id")+" FROM "+quoted(table)))
		if n > 0 {
			err = errors.Join(err, handoff.E("read threads", path, handoff.Unsupported,
				fmt.Errorf("%d threads are in table %s, which this version does not read", n, table)))
		}
	}
	return err
}

func quoted(table string) string { return `"` + strings.ReplaceAll(table, `"`, `""`) + `"` }

// metadata are the expressions for the metadata of a session.
func (t tables) metadata(table string) string {
	return t.text(table, "id", "parent_id", "title", "directory", "version", "agent", "fork_session_id", "revert") +
		", " + t.number(table, "time_created", "time_updated", "time_archived")
}

// scan sets what the row of a session has. summed reports whether it has the sums of its
// requests.
func (s *session) scan(scan func(...any) error, summed bool) error {
	var revert string
	columns := []any{&s.id, &s.parent, &s.title, &s.dir, &s.version, &s.agent, &s.fork, &revert, &s.created, &s.updated,
		&s.archived}
	if summed {
		t := &thread.Tokens{}
		s.spent = t
		columns = append(columns, &t.Input, &t.Output, &t.Reasoning, &t.CacheRead, &t.CacheWrite, &t.Cost)
	}
	err := scan(columns...)
	s.reverted = jsonl.Value(revert).Get("messageID").Text()
	if summed {
		s.spent.Output += s.spent.Reasoning
	}
	return err
}

// A row is a message, or a part of one, without its content.
type row struct {
	table   string
	rowID   int64
	id      string
	kind    string // of a message of version 2, "" in version 1
	owner   string // of a part
	created int64  // 0 if missing
	seq     int64
	size    int64
	parts   []*row
}

// index returns the messages of a session with their parts, in order. Their content may
// be larger than memory. A message that version 2 has imported counts as it was in version
// 1, which has the usage of each request, unless only version 2 completed it.
func (d *snapshot) index(ctx context.Context, session string) ([]*row, error) {
	list := map[string][]*row{}
	for _, table := range []string{"message", "part", "session_message"} {
		if d.tables[table] == nil {
			continue
		}
		err := d.each(ctx, func(scan func(...any) error) error {
			r := &row{table: table}
			list[table] = append(list[table], r)
			return scan(&r.rowID, &r.id, &r.owner, &r.kind, &r.created, &r.seq, &r.size)
		}, "SELECT rowid, "+d.tables.text(table, "id", "message_id", "type")+", "+
			d.tables.number(table, "time_created", "seq")+", coalesce(octet_length(data), 0) FROM "+table+
			" WHERE session_id = ?", session)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(list[table], func(a, b *row) int {
			return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
		})
	}
	if list["message"] != nil && list["session_message"] != nil {
		err := d.each(ctx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			list["message"] = slices.DeleteFunc(list["message"], func(r *row) bool { return r.id == id })
			return err
		}, frozenQuery, session)
		if err != nil {
			return nil, err
		}
	}
	first := map[string]*row{}
	for _, m := range list["message"] {
		first[m.id] = m
		m.kind = ""
	}
	for _, p := range list["part"] {
		if m := first[p.owner]; m != nil {
			m.parts = append(m.parts, p)
		}
	}
	second := slices.DeleteFunc(list["session_message"], func(r *row) bool { return first[r.id] != nil })
	return merge(list["message"], second), nil
}

// frozenQuery returns the messages that version 1 left and version 2 completed.
const frozenQuery = "SELECT m.id FROM message m " +
	"JOIN session_message s ON s.id = m.id AND s.session_id = m.session_id " +
	"WHERE m.session_id = ? AND iif(json_valid(m.data), m.data ->> '$.time.completed', NULL) IS NULL " +
	"AND iif(json_valid(s.data), s.data ->> '$.time.completed', NULL) IS NOT NULL"

// merge merges two lists by time. The order in each stays.
func merge(a, b []*row) (list []*row) {
	for len(a) > 0 && len(b) > 0 {
		if b[0].created < a[0].created {
			a, b = b, a
		}
		list, a = append(list, a[0]), a[1:]
	}
	return append(append(list, a...), b...)
}

// rows is the source of the messages of a session in a database.
func (s *session) rows(ctx context.Context, scan *engine.Scan, use func(int, jsonl.Value) bool) (err error) {
	for attempt := range maxAttempts {
		again := false
		if again, err = s.read(ctx, scan, attempt+1 < maxAttempts, use); !again {
			break
		}
	}
	return err
}

// read passes the messages of a session. If the database was modified before the first of
// them, and they may be read again, it passes none.
func (s *session) read(ctx context.Context, scan *engine.Scan, retry bool, use func(int, jsonl.Value) bool) (again bool,
	err error) {
	db, err := open(ctx, s.path)
	if err != nil {
		return false, err
	}
	defer db.Close()
	facts := &scan.Facts
	list, err := db.index(ctx, s.id)
	if retry && db.Changed() && ctx.Err() == nil {
		return true, nil
	}
	if err == nil {
		err = db.pass(ctx, scan.Decoder().(*decode), list, use)
	}
	if err == nil {
		err = db.newer(ctx, scan, s.id)
	}
	if err == nil {
		err = s.elsewhere(ctx, scan, list)
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case scan.Timeline.Err() != nil:
	case db.Changed():
		facts.Partial = true
		facts.Warn("the database was modified while it was read: read it again")
	case err != nil:
		facts.Partial = true
		facts.Warn("the database is damaged: %v", err)
	}
	if db.Unfinished() {
		facts.Warn("a write to the database is in progress or was interrupted: part of it may be visible")
	}
	return false, nil
}

// elsewhere notes the answers of the session that only other databases have.
func (s *session) elsewhere(ctx context.Context, scan *engine.Scan, list []*row) (err error) {
	known := map[string]bool{}
	for _, r := range list {
		known[r.id] = true
	}
	n := 0
	for _, path := range s.others {
		db, failed := open(ctx, path)
		if failed != nil {
			return errors.Join(err, failed)
		}
		for _, table := range []string{"message", "session_message"} {
			if db.tables[table] == nil {
				continue
			}
			where := " WHERE session_id = ? AND data LIKE '%\"tokens\"%'"
			err = errors.Join(err, db.each(ctx, func(row func(...any) error) error {
				var id string
				err := row(&id)
				if !known[id] {
					n++
				}
				known[id] = true
				return err
			}, "SELECT "+db.tables.text(table, "id")+" FROM "+table+where, s.id))
		}
		err = errors.Join(err, db.Close())
	}
	scan.Gaps = append(scan.Gaps, thread.Gap{N: n, Reason: "%d answers are only in another database"})
	return err
}

// newer notes the rows of the session in tables that are not known. Of a table without
// times, these are the rows that mention tokens.
func (d *snapshot) newer(ctx context.Context, scan *engine.Scan, session string) (err error) {
	for table, columns := range d.tables {
		i := slices.IndexFunc(columns, isSession)
		if i < 0 || needed[table] != nil || slices.Contains(ignored, table) {
			continue
		}
		times, about := []string{"0"}, []string{"0"}
		for _, c := range columns {
			if lower := strings.ToLower(c); strings.Contains(lower, "time") || strings.Contains(lower, "created") {
				times = append(times, fmt.Sprintf(milliseconds, quoted(c)))
			}
			about = append(about, quoted(c)+" LIKE '%token%'")
		}
		where := ""
		if len(times) == 1 {
			where = " AND (" + strings.Join(about, " OR ") + ")"
		}
		err = errors.Join(err, d.each(ctx, func(row func(...any) error) error {
			var n int
			var last int64
			err := row(&n, &last)
			scan.Newer(table, n, jsonl.Milliseconds(last))
			return err
		}, "SELECT count(*), coalesce(max(max("+strings.Join(times, ", ")+", 0)), 0) FROM "+quoted(table)+" WHERE "+
			quoted(columns[i])+" = ?"+where, session))
	}
	return err
}

// milliseconds is an expression for the time in a column, which may be a text, seconds or
// milliseconds.
const milliseconds = "coalesce(CAST(CASE WHEN typeof(%[1]s) = 'text' THEN unixepoch(%[1]s) * 1000 " +
	"WHEN %[1]s < 100000000000 THEN %[1]s * 1000 ELSE %[1]s END AS INTEGER), 0)"

// isSession reports whether a column has the ID of a session.
func isSession(column string) bool {
	return strings.EqualFold(strings.ReplaceAll(column, "_", ""), "sessionid")
}

// part returns what of the database belongs to the session.
func (s *session) part() *engine.Part {
	p := &engine.Part{Database: engine.Database(s.path)}
	for _, table := range []string{"session", "session_v2", "message", "part", "session_message"} {
		where := "session_id = ?"
		if strings.HasPrefix(table, "session") && table != "session_message" {
			where = "id = ?"
		}
		if s.tables[table] != nil {
			p.Rows = append(p.Rows, engine.Rows{Table: table, Key: "id", Where: where, Args: []any{s.id}})
		}
	}
	return p
}
