package sqlindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	lib "modernc.org/sqlite/lib"
)

// version is the version of the schema and of the stored values. A database of
// another version is emptied and rebuilt.
const version = 44

// schema creates what records are applied to. The key of an artifact's row is the
// Seq of its record, so every index of artifacts ends in log order.
var schema = []string{
	// The position of the index. Texts are indexed later than records: text_seq is
	// the Seq of the last artifact whose texts are. bytes is the size of all records.
	`CREATE TABLE place (version INTEGER, log TEXT, seq INTEGER, id TEXT, text_seq INTEGER, bytes INTEGER)`,

	`CREATE TABLE artifacts (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, record BLOB, state TEXT, sum INTEGER,
		family TEXT, contest TEXT, status TEXT, created INTEGER, size INTEGER, readers INTEGER, bodies BLOB, ` + strings.Join(columns, " TEXT, ") + ` TEXT)`,
	`CREATE UNIQUE INDEX by_id ON artifacts (id)`,
	`CREATE INDEX by_family ON artifacts (family, status)`,
	`CREATE INDEX by_contest ON artifacts (contest, status) WHERE contest IS NOT NULL`,

	// How many artifacts of a channel have a status. Counting them would take longer
	// than all the rest of a list.
	`CREATE TABLE totals (channel TEXT, status TEXT, n INTEGER, PRIMARY KEY (channel, status)) WITHOUT ROWID`,

	// The groups of families, and the families without one, with several active artifacts, which are few.
	`CREATE TABLE contested (family TEXT PRIMARY KEY) WITHOUT ROWID`,

	// Artifacts that other records name and whose own record is unknown.
	`CREATE TABLE named (id TEXT PRIMARY KEY, state TEXT) WITHOUT ROWID`,

	// The threads that published in a session or run.
	`CREATE TABLE published_in (place TEXT, thread TEXT, PRIMARY KEY (place, thread)) WITHOUT ROWID`,

	// Values that an artifact can have several of: tags, parents, further IDs.
	`CREATE TABLE labels (space TEXT, value TEXT, status TEXT, seq INTEGER, PRIMARY KEY (space, value, status, seq)) WITHOUT ROWID`,

	// The agents, sessions and runs that used artifacts.
	`CREATE TABLE users (user TEXT, id TEXT, PRIMARY KEY (user, id)) WITHOUT ROWID`,

	`CREATE TABLE pointers (key TEXT, space TEXT, value TEXT, PRIMARY KEY (key, space)) WITHOUT ROWID`,
	`CREATE INDEX kept_threads ON pointers (key) WHERE space = '` + fold.KeptSpace + `'`,

	`CREATE TABLE sessions (id TEXT PRIMARY KEY, state TEXT, opened INTEGER, openedAt INTEGER, status TEXT,
		parent TEXT, agent TEXT, workflow TEXT, user TEXT, archived INTEGER, boot TEXT) WITHOUT ROWID`,
	// Each index covers every column that queries select by, so that only the
	// rows of the result are read.
	`CREATE INDEX sessions_by_opened ON sessions (openedAt, opened, status, parent, archived, agent, workflow, user)`,
	`CREATE INDEX sessions_by_status ON sessions (status, openedAt, opened, parent, archived, agent, workflow, user)`,
	`CREATE INDEX sessions_by_parent ON sessions (parent, openedAt, opened, status, archived, agent, workflow, user)`,
	`CREATE INDEX sessions_by_agent ON sessions (agent, openedAt, opened, status, parent, archived, workflow, user)`,
	`CREATE INDEX sessions_by_user ON sessions (user, openedAt, opened, status, parent, archived, agent, workflow)`,
	`CREATE INDEX sessions_by_workflow ON sessions (workflow)`,
	`CREATE INDEX sessions_by_record ON sessions (opened, openedAt, archived)`, // the key of session_texts
	// the running sessions only
	`CREATE INDEX sessions_by_boot ON sessions (boot, openedAt, opened) WHERE boot IS NOT NULL`,
	`CREATE TABLE session_tags (tag TEXT, id TEXT, PRIMARY KEY (tag, id)) WITHOUT ROWID`,
	`CREATE INDEX session_tags_by_id ON session_tags (id)`,
	`CREATE TABLE session_links (target TEXT, id TEXT, PRIMARY KEY (target, id)) WITHOUT ROWID`,

	// The texts of sessions, and the sessions whose texts are out of date.
	`CREATE VIRTUAL TABLE session_texts USING fts5 (id UNINDEXED, name, workflow, agent, summary, tags, inputs, outputs, tokenize = "unicode61 remove_diacritics 2")`,
	`CREATE TABLE undescribed (id TEXT PRIMARY KEY) WITHOUT ROWID`,

	// Sessions whose manifest must be rendered: up to which record, since when, and whether more
	// happened than that artifacts were published.
	`CREATE TABLE unrendered (id TEXT PRIMARY KEY, seq INTEGER, at REAL, much INTEGER) WITHOUT ROWID`,
	`CREATE INDEX unrendered_by_seq ON unrendered (seq DESC, id, at)`,
	// The manifests as they were last rendered: up to which record, and the digest of the file.
	`CREATE TABLE manifests (id TEXT PRIMARY KEY, seq INTEGER, sum TEXT) WITHOUT ROWID`,

	`CREATE TABLE works (harness TEXT, id TEXT, state TEXT, session TEXT, run TEXT, parent TEXT, thread TEXT,
		PRIMARY KEY (harness, id)) WITHOUT ROWID`,
	`CREATE INDEX works_by_session ON works (session) WHERE session IS NOT NULL`,
	`CREATE INDEX works_by_run ON works (run) WHERE run IS NOT NULL`,
	`CREATE INDEX works_by_thread ON works (thread) WHERE thread IS NOT NULL`,
	`CREATE INDEX works_by_parent ON works (parent, harness) WHERE parent IS NOT NULL`,

	`CREATE TABLE damaged (seq INTEGER PRIMARY KEY)`,

	// The target cache: the state that reading an artifact's file gave.
	`CREATE TABLE verdicts (id TEXT PRIMARY KEY, fingerprint TEXT, target TEXT) WITHOUT ROWID`,

	`CREATE VIRTUAL TABLE texts USING fts5 (title, summary, name, tags, body, tokenize = "unicode61 remove_diacritics 2")`,
}

// selecting returns what creates the indexes by which only queries select artifacts.
func selecting() []string {
	dense := []string{
		`CREATE INDEX IF NOT EXISTS by_suffix ON artifacts (` + suffixOfID + `)`,
		`CREATE INDEX IF NOT EXISTS by_status ON artifacts (status)`,
		`CREATE INDEX IF NOT EXISTS by_created ON artifacts (created, status)`,
		// What productions and groups of bodies add up. No row is read for them.
		`CREATE INDEX IF NOT EXISTS by_producer ON artifacts
			(thread, work, harness, session, run, agent, created, status, size, readers, channel, revision, bodies)`,
	}
	for _, column := range columns {
		if !slices.Contains(sparse, column) {
			dense = append(dense, indexOf(column))
		}
	}
	return append(selectingFew(), dense...)
}

// selectingFew returns those of selecting that have few of the artifacts.
func selectingFew() (indexes []string) {
	for _, column := range sparse {
		indexes = append(indexes, indexOf(column))
	}
	return indexes
}

// indexOf returns what creates the index of a column.
func indexOf(column string) string {
	key := column + ", status"
	if column == "revision" {
		key = "channel, revision" // of any status
	}
	return `CREATE INDEX IF NOT EXISTS by_` + column + ` ON artifacts (` + key + `) WHERE ` + column + ` IS NOT NULL`
}

// suffixOfID is the part of an ID that suffixes are searched by, which has an
// index. Its length is that of the shortest suffix that is a ref.
const (
	suffixOfID   = "substr(id, -6)"
	suffixLength = 6
)

// columns contain what queries select artifacts by, one value each, NULL for
// none. The first are fields of the record, the others slots of its producer.
// Slots that are rarely queried are labels.
var (
	columns     = append([]string{"channel", "kind", "name", "namespace", "key", "path", "revision"}, columnSlots...)
	columnSlots = []string{"harness", "agent", "session", "run", "operation", "task", "work", "parent_work", "thread"}
	labelSlots  = []string{"parent-session", "tool-call", "model"}
)

// sparse are the columns in which few artifacts have a value.
var sparse = []string{"name", "namespace", "key", "revision", "operation", "parent_work"}

// slotName returns the name of the slot in a column.
func slotName(column string) string { return strings.ReplaceAll(column, "_", "-") }

// position returns the last record that the index of a log has applied.
func position(ctx context.Context, c *sqlite.Conn, log string) (Position, error) {
	var p Position
	var v int64
	var of string
	found, err := c.One(ctx, `SELECT version, log, seq, id FROM place`, nil, func(r *sqlite.Row) {
		v = r.Integer()
		of = r.Text()
		p.Seq = handoff.Seq(r.Integer())
		p.ID = r.Text()
	})
	switch {
	case err != nil:
		return p, err
	case !found || p.Seq < 0:
		return p, damaged("it has no position")
	case of != log:
		return p, damaged("it belongs to another log")
	case v != version:
		return p, &Error{Moved: true, Err: handoff.Conflict}
	}
	return p, nil
}

// ApplicationID is stored in the header of an index: "hdof".
const ApplicationID = 0x68646f66

// checkOwner refuses a database that is not an index of handoff. Only a new, empty
// database is accepted besides.
func (x *Index) checkOwner(ctx context.Context) error {
	return x.read(ctx, func(c *sqlite.Conn) error {
		var id, tables int64
		for _, q := range []struct {
			query string
			value *int64
		}{{`PRAGMA application_id`, &id}, {`SELECT count(*) FROM sqlite_schema`, &tables}} {
			if _, err := c.One(ctx, q.query, nil, func(r *sqlite.Row) { *q.value = r.Integer() }); err != nil {
				return err
			}
		}
		if id == ApplicationID || (id == 0 && tables == 0) {
			return nil
		}
		return &Error{Err: errors.New("the file is not an index of handoff")}
	})
}

// ready creates the index in a new database, and in one of another schema, which it empties, if the
// caller wants that.
func (x *Index) ready(ctx context.Context, empty bool) error {
	if err := x.checkOwner(ctx); err != nil {
		return err
	}
	_, err := x.Position(ctx)
	if !foreign(err) || (IsFormer(err) && !empty) {
		return err
	}
	for i := 1; ; i++ {
		if err = x.wal(ctx); err == nil {
			err = x.transact(ctx, "BEGIN IMMEDIATE", func(c *sqlite.Conn) error {
				if _, err := position(ctx, c, x.log); !foreign(err) {
					return err // another process was first
				}
				return create(ctx, c, x.log, selecting())
			})
		}
		if !sqlite.IsBusy(err) || i == waits {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// foreign reports whether err means that a database contains something else.
func foreign(err error) bool { return sqlite.Code(err) == lib.SQLITE_ERROR || IsFormer(err) }

// wal turns on write-ahead logging, so that readers and a writer do not block
// each other. The setting is stored in the file.
func (x *Index) wal(ctx context.Context) error {
	return wrapError(ctx, x.db.Use(ctx, func(c *sqlite.Conn) error { return c.Exec(ctx, `PRAGMA journal_mode = WAL`) }))
}

// create empties the database and makes it the index of the given log, with the given indexes
// beside those of the schema.
func create(ctx context.Context, c *sqlite.Conn, log string, indexes []string) error {
	var tables []string
	for r, err := range c.Each(ctx,
		`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY sql LIKE 'CREATE VIRTUAL %' DESC`) {
		if err != nil {
			return err
		}
		tables = append(tables, r.Text())
	}
	for _, name := range tables {
		if err := c.Exec(ctx, `DROP TABLE IF EXISTS "`+strings.ReplaceAll(name, `"`, `""`)+`"`); err != nil {
			return err
		}
	}
	for _, statement := range slices.Concat(schema, indexes) {
		if err := c.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := c.Exec(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, ApplicationID)); err != nil {
		return err
	}
	return c.Exec(ctx, `INSERT INTO place (version, log, seq, id, text_seq, bytes) VALUES (?, ?, 0, '', 0, 0)`, version, log)
}
