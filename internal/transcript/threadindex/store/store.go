// Package store keeps the index of threads in a SQLite database, which is
// derived from their transcripts.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	lib "modernc.org/sqlite/lib"
)

// version is the version of the schema and of the stored values, which include what
// providers keep in marks. A database of another version is rebuilt.
const version = 18

// applicationID is stored in the header of the database: "hdth".
const applicationID = 0x68647468

// Columns are the columns of the table words.
var Columns = [...]string{"title", "prompt", "answer", "summary", "tool"}

// schema creates the database.
var schema = []string{
	// A transcript that was read. Its state is a hash of its key and stamp.
	`CREATE TABLE transcripts (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state INTEGER NOT NULL)`,
	`CREATE INDEX transcripts_by_state ON transcripts (state)`,

	// The digest of all states: each bit is set if it is set in an odd number of them.
	// SQLite has no operator for that.
	`CREATE TABLE digest (states INTEGER NOT NULL)`,
	`INSERT INTO digest VALUES (0)`,
	`CREATE TRIGGER transcript_added AFTER INSERT ON transcripts BEGIN
		UPDATE digest SET states = (states | new.state) - (states & new.state); END`,
	`CREATE TRIGGER transcript_removed AFTER DELETE ON transcripts BEGIN
		UPDATE digest SET states = (states | old.state) - (states & old.state); END`,

	// A thread of a transcript. Item is JSON; the other columns are what queries
	// select by. Text that is compared in any case is stored in lower case. Self is the
	// URI by which subagents name the thread as their parent, and shell the ID that the
	// shells of a subagent have. Continues is the URI of the thread whose work it continues.
	// Spawned are the IDs of the subagents that it started, one a line.
	`CREATE TABLE threads (id INTEGER PRIMARY KEY, transcript INTEGER NOT NULL, key TEXT, provider TEXT, uri TEXT, parent TEXT, agent INTEGER, title TEXT,
		role TEXT, name TEXT, cwd TEXT, modified INTEGER, started INTEGER, ended INTEGER, status TEXT, models TEXT, completeness TEXT, reason TEXT, family TEXT, origin TEXT, continues TEXT, item TEXT, agent_name TEXT, self TEXT, shell TEXT, spawned TEXT)`,
	`CREATE INDEX threads_by_transcript ON threads (transcript)`,
	`CREATE INDEX threads_by_time ON threads (agent, modified)`,
	`CREATE INDEX threads_by_uri ON threads (uri)`,
	`CREATE INDEX threads_by_cwd ON threads (cwd)`,
	`CREATE INDEX threads_by_family ON threads (family) WHERE family <> ''`,
	`CREATE INDEX threads_by_origin ON threads (origin) WHERE origin <> ''`,
	`CREATE INDEX threads_by_continues ON threads (continues) WHERE continues <> ''`,
	`CREATE INDEX threads_by_role ON threads (agent, role, name) WHERE agent`,
	`CREATE INDEX threads_by_parent ON threads (parent, self) WHERE agent`,

	// What calls did, see Touch, Command and Mention. N is the number of the message.
	// The access is an index of accesses.
	`CREATE TABLE touches (thread INTEGER, n INTEGER, at INTEGER, path TEXT, access INTEGER)`,
	`CREATE INDEX touches_by_thread ON touches (thread)`,
	`CREATE INDEX touches_by_path ON touches (path)`,
	`CREATE TABLE commands (thread INTEGER, n INTEGER, at INTEGER, line TEXT, exit INTEGER, failed INTEGER, output TEXT)`,
	`CREATE INDEX commands_by_thread ON commands (thread)`,
	`CREATE TABLE mentions (thread INTEGER, n INTEGER, at INTEGER, name TEXT, place TEXT)`,
	`CREATE INDEX mentions_by_thread ON mentions (thread)`,
	`CREATE INDEX mentions_by_name ON mentions (name)`,

	// The calls that may have published artifacts, see Report, once for each artifact. Does
	// has a bit for each of its flags.
	`CREATE TABLE reports (thread INTEGER, n INTEGER, at INTEGER, name TEXT, call TEXT, model TEXT, does INTEGER)`,
	`CREATE INDEX reports_by_thread ON reports (thread)`,
	`CREATE INDEX reports_by_name ON reports (name) WHERE name <> ''`,
	`CREATE INDEX reports_by_call ON reports (call) WHERE call <> ''`,

	// When the transcripts of a thread were last compared with the index, see Attributions;
	// "*" is that of all.
	`CREATE TABLE compared (thread TEXT PRIMARY KEY, at INTEGER NOT NULL)`,

	// The requests of a thread, as packed.Encode encodes them.
	`CREATE TABLE requests (thread INTEGER PRIMARY KEY, list BLOB)`,

	// The names of the tools that were called.
	`CREATE TABLE tools (name TEXT, thread INTEGER, PRIMARY KEY (name, thread)) WITHOUT ROWID`,
	`CREATE INDEX tools_by_thread ON tools (thread)`,

	// Where large threads that have changed are read further, see package tail.
	`CREATE TABLE marks (thread INTEGER PRIMARY KEY, mark BLOB)`,

	// The words of threads, as words.Append makes them. The texts are not stored. A
	// thread with a mark has several rows, see Segment.
	`CREATE VIRTUAL TABLE words USING fts5 (` + strings.Join(Columns[:], ", ") +
		`, content = '', contentless_delete = 1, tokenize = "ascii")`,
}

// A Database is an open index. It has one connection.
type Database struct {
	*sql.Conn
	pool   *sql.DB
	direct *sqlite.Conn // the same connection
}

// Open opens the index in a file, which it creates if it is missing. Only
// its owner can read it.
func Open(ctx context.Context, file string) (*Database, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := plainfile.CheckOnlyName(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", file+suffix, err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, err
	}
	source := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: url.Values{"_pragma": {
		"busy_timeout(5000)", "synchronous(NORMAL)", "cache_size(-16000)", "temp_store(MEMORY)",
	}}.Encode()}
	pool, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, err
	}
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	db := &Database{Conn: c, pool: pool}
	err = c.Raw(func(d any) error {
		c, ok := d.(driver.Conn)
		if !ok {
			return errors.ErrUnsupported
		}
		db.direct = sqlite.On(c)
		return nil
	})
	if err == nil {
		err = db.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the database.
func (db *Database) Close() error {
	if db.direct != nil {
		db.direct.Release()
	}
	return errors.Join(db.Conn.Close(), db.pool.Close())
}

// Direct calls do with the connection, without package database/sql and its goroutine for
// each statement. do must not call other methods of db.
func (db *Database) Direct(do func(*sqlite.Conn) error) error {
	return db.Raw(func(any) error { return do(db.direct) })
}

// Exec executes a statement. One that has arguments is compiled once.
func (db *Database) Exec(ctx context.Context, query string, args ...any) error {
	if len(args) == 0 {
		_, err := db.ExecContext(ctx, query)
		return err
	}
	return db.Direct(func(c *sqlite.Conn) error { return c.Exec(ctx, query, args...) })
}

// Insert is Exec for a statement that inserts one row, whose ID it returns.
func (db *Database) Insert(ctx context.Context, query string, args ...any) (id int64, err error) {
	err = db.Direct(func(c *sqlite.Conn) (err error) {
		id, err = c.Insert(ctx, query, args...)
		return err
	})
	return id, err
}

// Each calls use with each row of a query that is compiled once.
func (db *Database) Each(ctx context.Context, use func(*sqlite.Row), query string, args ...any) error {
	return db.Direct(func(c *sqlite.Conn) error {
		for r, err := range c.Each(ctx, query, args...) {
			if err != nil {
				return err
			}
			if use(r); r.Err() != nil {
				return r.Err()
			}
		}
		return nil
	})
}

// errForeign is the error for a file that is not an index of threads.
var errForeign = errors.New("the file is not an index of threads")

// prepare creates the tables in a new database, and again in one of another
// version.
func (db *Database) prepare(ctx context.Context) error {
	var id, found, tables int64
	for query, value := range map[string]*int64{"PRAGMA application_id": &id, "PRAGMA user_version": &found,
		"SELECT count(*) FROM sqlite_schema": &tables} {
		if err := db.QueryRowContext(ctx, query).Scan(value); err != nil {
			return err
		}
	}
	switch {
	case id == applicationID && found == version:
		return nil
	case id != applicationID && tables > 0:
		return errForeign
	case tables > 0:
		return errVersion
	}
	if err := db.Exec(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return db.Transact(ctx, func() error {
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables > 0 {
			return err // another process was first
		}
		return db.Exec(ctx, strings.Join(schema, ";\n")+
			fmt.Sprintf(";\nPRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
	})
}

// ErrValue is the error for a stored value that can't be decoded.
var ErrValue = errors.New("the index has a damaged value")

var errVersion = errors.New("the index has another version")

// Transact runs do in a transaction that holds the write lock.
func (db *Database) Transact(ctx context.Context, do func() error) error {
	if err := db.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := do(); err != nil {
		return errors.Join(err, db.Exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return db.Exec(ctx, "COMMIT")
}

// IsDamage reports whether an error means that the database must be rebuilt.
func IsDamage(err error) bool {
	if errors.Is(err, errVersion) || errors.Is(err, ErrValue) || errors.As(err, new(*sqlite.Altered)) {
		return true
	}
	switch sqlite.Code(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_ERROR, lib.SQLITE_SCHEMA,
		lib.SQLITE_INTERNAL:
		return true
	}
	return false
}

// Remove removes a damaged database. Its contents are derived.
func Remove(file string) {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		_ = os.Remove(file + suffix) // what can't be removed can't be used either, which is reported
	}
}

// Segment returns the row of a part of the words of a thread.
func Segment(thread int64, n int) int64 { return thread<<16 + int64(n) }
