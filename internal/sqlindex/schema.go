package sqlindex

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	lib "modernc.org/sqlite/lib"
)

// version is that of the schema and of what is stored in it. A database of
// another version is emptied and filled anew.
const version = 6

// schema is the database but for the indexes of columns. An artifact's row has
// the place of its record as its key, so that every index of artifacts ends in
// log order.
var schema = []string{
	// Texts are told later than records: up to the place in told.
	`CREATE TABLE place (version INTEGER, log TEXT, seq INTEGER, id TEXT, told INTEGER)`,

	`CREATE TABLE artifacts (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, record BLOB, state TEXT, sum INTEGER,
		family TEXT, status TEXT, created INTEGER, ` + strings.Join(columns, " TEXT, ") + ` TEXT)`,
	`CREATE UNIQUE INDEX by_id ON artifacts (id)`,
	`CREATE INDEX by_status ON artifacts (status)`,
	`CREATE INDEX by_family ON artifacts (family, status)`,
	`CREATE INDEX by_created ON artifacts (created, status)`,

	// How many artifacts have a status. To count them takes longer than all the
	// rest of a list.
	`CREATE TABLE totals (status TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID`,

	// What was named before its record came, or never comes.
	`CREATE TABLE named (id TEXT PRIMARY KEY, state TEXT) WITHOUT ROWID`,

	// What an artifact has several of: tags, parents, further ids.
	`CREATE TABLE labels (space TEXT, value TEXT, status TEXT, seq INTEGER, PRIMARY KEY (space, value, status, seq)) WITHOUT ROWID`,

	`CREATE TABLE pointers (key TEXT, space TEXT, value TEXT, PRIMARY KEY (key, space)) WITHOUT ROWID`,

	`CREATE TABLE sessions (id TEXT PRIMARY KEY, state TEXT, opened INTEGER, openedAt INTEGER, status TEXT,
		parent TEXT, agent TEXT, workflow TEXT, user TEXT, archived INTEGER, boot TEXT) WITHOUT ROWID`,
	// Each index holds all that queries select by, so that only what is shown is
	// looked up.
	`CREATE INDEX sessions_by_opened ON sessions (opened, status, parent, archived, agent, workflow, user, openedAt)`,
	`CREATE INDEX sessions_by_status ON sessions (status, opened, parent, archived, agent, workflow, user, openedAt)`,
	`CREATE INDEX sessions_by_parent ON sessions (parent, opened, status, archived, agent, workflow, user, openedAt)`,
	`CREATE INDEX sessions_by_agent ON sessions (agent, opened, status, parent, archived, workflow, user, openedAt)`,
	`CREATE INDEX sessions_by_user ON sessions (user, opened, status, parent, archived, agent, workflow, openedAt)`,
	`CREATE INDEX sessions_by_workflow ON sessions (workflow)`,
	`CREATE INDEX sessions_by_boot ON sessions (boot, opened) WHERE boot IS NOT NULL`, // few: those that run
	`CREATE TABLE session_tags (tag TEXT, id TEXT, PRIMARY KEY (tag, id)) WITHOUT ROWID`,
	`CREATE INDEX session_tags_by_id ON session_tags (id)`,

	// Sessions that someone is about to render, since when, and up to which record.
	`CREATE TABLE unrendered (id TEXT PRIMARY KEY, seq INTEGER, at REAL) WITHOUT ROWID`,

	`CREATE TABLE works (harness TEXT, id TEXT, state TEXT, PRIMARY KEY (harness, id)) WITHOUT ROWID`,

	`CREATE TABLE damaged (seq INTEGER PRIMARY KEY)`,

	`CREATE TABLE verdicts (id TEXT PRIMARY KEY, fingerprint TEXT, target TEXT) WITHOUT ROWID`,

	`CREATE VIRTUAL TABLE texts USING fts5 (title, summary, name, tags, body, tokenize = "unicode61 remove_diacritics 2")`,
}

// columns hold what queries select artifacts by, one value each, NULL for
// none. The first are the record's, the others slots of its producer; slots
// that are rarely asked for are labels.
var (
	columns     = append([]string{"channel", "kind", "name", "namespace", "key"}, columnSlots...)
	columnSlots = []string{"harness", "agent", "session", "run", "operation", "task", "work", "parent_work", "thread"}
	labelSlots  = []string{"parent-session", "tool-call"}
)

// slotName returns the name of the slot that a column holds.
func slotName(column string) string { return strings.ReplaceAll(column, "_", "-") }

// place returns how far the index of a log has come.
func (c *conn) place(ctx context.Context, log string) (Place, error) {
	var p Place
	var v int64
	var of string
	found, err := c.one(ctx, `SELECT version, log, seq, id FROM place`, nil, func(r *row) {
		v, of, p.Seq, p.ID = r.integer(), r.text(), handoff.Seq(r.integer()), r.text()
	})
	switch {
	case err != nil:
		return p, err
	case !found || p.Seq < 0:
		return p, damaged("it has no place")
	case v != version || of != log:
		return p, &Trouble{Moved: true, Err: handoff.Conflict}
	}
	return p, nil
}

// ready makes the database one of this log and schema, if it is not.
func (x *Index) ready(ctx context.Context) error {
	_, err := x.Place(ctx)
	if !foreign(err) {
		return err
	}
	for i := 1; ; i++ {
		if err = x.wal(ctx); err == nil {
			err = x.transact(ctx, "BEGIN IMMEDIATE", func(c *conn) error {
				if _, err := c.place(ctx, x.log); !foreign(err) {
					return err // another process was first
				}
				return c.create(ctx, x.log)
			})
		}
		if !busy(err) || i == waits {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// foreign reports whether err says that a database holds something else.
func foreign(err error) bool {
	var t *Trouble
	return code(err) == lib.SQLITE_ERROR || errors.As(err, &t) && t.Moved
}

// wal makes readers and a writer stand in nobody's way. The file remembers.
func (x *Index) wal(ctx context.Context) error {
	c, err := x.borrow(ctx)
	if err != nil {
		return trouble(ctx, err)
	}
	defer x.giveBack(c)
	return trouble(ctx, c.exec(ctx, `PRAGMA journal_mode = WAL`))
}

// create empties the database and makes it an index of the given log.
func (c *conn) create(ctx context.Context, log string) error {
	var tables []string
	for r, err := range c.each(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY sql LIKE 'CREATE VIRTUAL %' DESC`) {
		if err != nil {
			return err
		}
		tables = append(tables, r.text())
	}
	for _, name := range tables {
		if err := c.exec(ctx, `DROP TABLE IF EXISTS "`+strings.ReplaceAll(name, `"`, `""`)+`"`); err != nil {
			return err
		}
	}
	for _, statement := range schema {
		if err := c.exec(ctx, statement); err != nil {
			return err
		}
	}
	for _, column := range columns {
		statement := `CREATE INDEX by_` + column + ` ON artifacts (` + column + `, status) WHERE ` + column + ` IS NOT NULL`
		if err := c.exec(ctx, statement); err != nil {
			return err
		}
	}
	return c.exec(ctx, `INSERT INTO place (version, log, seq, id, told) VALUES (?, ?, 0, '', 0)`, version, log)
}
