// Package sqlsnap reads SQLite databases that belong to other programs, as they
// are at one moment, and leaves no trace.
//
// SQLite itself can't: to read a database whose newest rows are in its
// write-ahead log (WAL), it creates files beside it and may recover or
// checkpoint it. So the file that SQLite gets to see here is put together from
// two, both only read: the database, and over it the pages that the committed
// part of its WAL replaces (the format is that of "WAL-mode File Format" in
// SQLite's documentation). Nothing is copied, so size does not matter.
//
// Nothing is locked either. A writer that moves its WAL into the database
// meanwhile is noticed, not kept out: see [DB.Changed].
package sqlsnap

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	_ "modernc.org/sqlite" // the driver
	"modernc.org/sqlite/vfs"
)

// A DB is one connection to a database as it was when it was opened. It is for
// one goroutine.
type DB struct {
	*sql.Conn

	pool *sql.DB
	file *overlay
	vfs  *vfs.FS
	path string
	at   state
}

// state is what tells one moment of a database from another.
type state struct {
	size    int64
	written time.Time
	log     logID
}

// Open opens the database at path. The error is one of the file system, or of
// SQLite, for what is no database. What is damaged behind its first page shows
// when it is read.
func Open(ctx context.Context, path string) (_ *DB, err error) {
	d := &DB{path: path}
	if d.at, err = look(path); err != nil {
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
	// What the schema computes is not trusted, and sorts stay in memory: there
	// is no file to write to.
	d.pool, err = sql.Open("sqlite", "file:"+inside+"?mode=ro&immutable=1&vfs="+name+
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

// Changed reports whether the database was written to since it was opened, so
// that rows read meanwhile may be of two moments. What is only added to a WAL
// changes nothing.
func (d *DB) Changed() bool {
	now, err := look(d.path)
	return err != nil || now != d.at
}

// Columns returns the names of a table's columns, none for what is no table.
func (d *DB) Columns(ctx context.Context, table string) (names []string, err error) {
	rows, err := d.QueryContext(ctx, "SELECT c.name FROM pragma_table_xinfo(?1) c WHERE c.hidden = 0 AND EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT LIKE 'create virtual%')", table)
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

// Unfinished reports whether a rollback journal lies beside the database: a
// write is going on, or was cut off, and some of it may be seen.
func (d *DB) Unfinished() bool {
	info, err := os.Stat(d.path + "-journal")
	return err == nil && info.Size() > 0
}

func look(path string) (s state, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() {
		return s, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	s.size, s.written = info.Size(), info.ModTime()
	wal, err := os.Open(path + walSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("its write-ahead log: %w", err)
	}
	defer wal.Close()
	s.log, _, _ = readLogHeader(wal)
	return s, nil
}
