// Package sqlsnap reads a snapshot of a SQLite database of another program without
// writing any file.
//
// SQLite itself can't do this: to read a database with a write-ahead log (WAL), it
// creates files beside it and may recover or checkpoint it. This package gives
// SQLite a virtual file instead, which is combined from two files: the database, and
// the pages of the committed part of its WAL, which replace those of the database.
// The format is described in "WAL-mode File Format" of SQLite's documentation.
// Nothing is copied, so the size of the database does not matter.
//
// Nothing is locked either. A checkpoint by the other program can't be prevented,
// but it is detected: see [DB.Changed].
package sqlsnap

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	_ "modernc.org/sqlite" // the driver
	"modernc.org/sqlite/vfs"
)

// A DB is a connection to a snapshot of a database, taken when it was opened. It is
// for one goroutine.
type DB struct {
	*sql.Conn

	pool *sql.DB
	file *overlay
	vfs  *vfs.FS
	path string
	at   state
}

// state identifies a version of a database.
type state struct {
	size    int64
	written time.Time
	log     logID
}

// Open opens the database at path. The error is one of the file system, or of
// SQLite if the file is not a database. Damage after the first page is detected when
// it is read.
func Open(ctx context.Context, path string) (_ *DB, err error) {
	d := &DB{path: path}
	if d.at, err = stat(path); err != nil {
		return nil, err
	}
	if d.file, err = openOverlay(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	name, registered, err := vfs.New(d.file)
	if err != nil {
		return nil, err
	}
	d.vfs = registered
	// The schema is not trusted. Sorting uses memory, because there is no file to
	// write to.
	d.pool, err = sql.Open("sqlite", "file:"+fileName+"?mode=ro&immutable=1&vfs="+name+
		"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(2)&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	if d.Conn, err = d.pool.Conn(ctx); err != nil {
		return nil, err
	}
	var n int
	if err := d.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return nil, err
	}
	return d, nil
}

// Close closes the connection and its files.
func (d *DB) Close() error {
	var errs []error
	if d.Conn != nil {
		errs = append(errs, d.Conn.Close())
	}
	if d.pool != nil {
		errs = append(errs, d.pool.Close())
	}
	if d.vfs != nil {
		errs = append(errs, d.vfs.Close())
	}
	if d.file != nil {
		errs = append(errs, d.file.close())
	}
	return errors.Join(errs...)
}

// Changed reports whether the database was modified since it was opened, so that the
// rows that were read may be inconsistent. Appending to a WAL does not count.
func (d *DB) Changed() bool {
	now, err := stat(d.path)
	return err != nil || now != d.at
}

// Columns returns the names of a table's columns, none if there is no such table.
func (d *DB) Columns(ctx context.Context, table string) (names []string, err error) {
	rows, err := d.QueryContext(ctx, "SELECT c.name FROM pragma_table_xinfo(?1) c WHERE c.hidden = 0 AND EXISTS (SELECT "+
		"1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT LIKE 'create virtual%')", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name.String)
	}
	return names, rows.Err()
}

// Unfinished reports whether the database has a rollback journal: a write is in
// progress or was interrupted, and part of it may be visible.
func (d *DB) Unfinished() bool {
	info, err := os.Stat(d.path + "-journal")
	return err == nil && info.Size() > 0
}

func stat(path string) (s state, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() {
		return s, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	s.size, s.written = info.Size(), info.ModTime()
	wal, err := plainfile.OpenLinked(path + walSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("write-ahead log: %w", err)
	}
	defer wal.Close()
	s.log, _, _ = readLogHeader(wal)
	return s, nil
}
