package sqlsnap_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread/internal/sqlsnap"
)

// grow writes a database with a WAL in several transactions and returns its path and
// the open connection of the writer.
func grow(t testing.TB, transactions int) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "live.db")
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=page_size(512)&_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	run(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)")
	for i := range transactions {
		run(t, db, fmt.Sprintf("WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < %d) INSERT INTO t "+
			"(s) SELECT printf('%d-%%d', v) || hex(zeroblob(100)) FROM n", 10+i, i))
		run(t, db, "DELETE FROM t WHERE id % 7 = 3")
	}
	return path, db
}

func run(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// copied copies a database with the first bytes of its WAL.
func copied(t testing.TB, path string, wal int64) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix != "" {
			b = b[:min(wal, int64(len(b)))]
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// rows reads all rows. An error is part of the result.
func rows(t testing.TB, path string) []string {
	t.Helper()
	threadtest.CheckUnchanged(t, filepath.Dir(path))
	db, err := sqlsnap.Open(t.Context(), path)
	if err != nil {
		return []string{"open: " + err.Error()}
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if columns, err := db.Columns(t.Context(), "t"); err != nil || len(columns) == 0 {
		return []string{"no table"}
	}
	found, err := db.QueryContext(t.Context(), "SELECT id || s FROM t ORDER BY s DESC")
	if err != nil {
		return []string{err.Error()}
	}
	return collect(found)
}

func collect(found *sql.Rows) (list []string) {
	defer found.Close()
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			return append(list, err.Error())
		}
		list = append(list, s)
	}
	if err := found.Err(); err != nil {
		list = append(list, err.Error())
	}
	return list
}

// sqlite reads all rows with SQLite itself, which recovers the copy.
func sqlite(t testing.TB, path string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query("SELECT id || s FROM t ORDER BY s DESC")
	if err != nil {
		return []string{"no table"}
	}
	return collect(found)
}

// TestLikeSQLite cuts a WAL at every frame, and inside of frames: what is read
// is what SQLite recovers.
func TestLikeSQLite(t *testing.T) {
	transactions := 4 // fewer do not have a transaction of several pages
	if os.Getenv("HANDOFF_LONG") != "" {
		transactions = 6
	}
	path, _ := grow(t, transactions)
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const frame = 24 + 512
	for cut := int64(0); cut <= info.Size(); cut += frame / 2 {
		got := rows(t, copied(t, path, cut))
		if want := sqlite(t, copied(t, path, cut)); !slices.Equal(got, want) {
			t.Fatalf("with %d bytes of the WAL: got %d rows %.300q, want %d", cut, len(got), got, len(want))
		}
	}
}

// TestReused reads a WAL that was restarted and still contains earlier frames, and one
// that is completely in the database.
func TestReused(t *testing.T) {
	path, db := grow(t, 6)
	run(t, db, "PRAGMA wal_checkpoint(RESTART)")
	for range 2 {
		if got, want := rows(t, copied(t, path, 1<<40)), sqlite(t, copied(t, path, 1<<40)); !slices.Equal(got, want) ||
			len(got) < 50 {
			t.Errorf("got %d rows, want %d", len(got), len(want))
		}
		run(t, db, "UPDATE t SET s = 'x' || s WHERE id % 2 = 0")
	}
}

// TestChanged checks that appending to a WAL does not change a snapshot, and that a
// checkpoint is detected.
func TestChanged(t *testing.T) {
	path, db := grow(t, 3)
	snap, err := sqlsnap.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	count := func() (n int) {
		if err := snap.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	run(t, db, "INSERT INTO t (s) VALUES ('new')")
	if after := count(); after != before || snap.Changed() {
		t.Errorf("got %d rows and then %d, changed: %v", before, after, snap.Changed())
	}
	run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	if !snap.Changed() {
		t.Error("a checkpoint was not detected")
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlsnap.Open(t.Context(), filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
	if _, err := sqlsnap.Open(t.Context(), dir); err == nil {
		t.Error("a directory was opened")
	}
	path := filepath.Join(dir, "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, path); len(got) != 1 || !strings.Contains(got[0], "not a database") {
		t.Errorf("got %q", got)
	}
}

// TestLogIsPipe opens a database with a pipe in place of its write-ahead log.
func TestLogIsPipe(t *testing.T) {
	live, _ := grow(t, 1)
	path := copied(t, live, 0)
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path+"-wal", 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		if w, err := os.OpenFile(path+"-wal", os.O_WRONLY, 0); err == nil {
			w.Close()
		}
	}()
	_, err := sqlsnap.Open(t.Context(), path)
	if !errors.Is(err, plainfile.ErrNotRegular) {
		t.Errorf("got %v, want not a regular file", err)
	}
	if r, err := os.OpenFile(path+"-wal", os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		r.Close() // ends the writer
	}
}

// TestNoTables checks that views and missing tables have no columns.
func TestNoTables(t *testing.T) {
	path, db := grow(t, 1)
	run(t, db, "CREATE VIEW v AS SELECT 1 AS id")
	snap, err := sqlsnap.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, name := range []string{"v", "nothing", "sqlite_schema"} {
		if columns, err := snap.Columns(t.Context(), name); err != nil || columns != nil {
			t.Errorf("%s: got %v, %v", name, columns, err)
		}
	}
	if _, err := snap.ExecContext(t.Context(), "DELETE FROM t"); err == nil {
		t.Error("the snapshot is writable")
	}
}

// FuzzFiles reads any bytes as a database with its WAL: no panic, no hang.
func FuzzFiles(f *testing.F) {
	path, _ := grow(f, 2)
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		f.Fatal(err)
	}
	main, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(main, wal)
	f.Add(main, wal[:len(wal)/2])
	f.Add([]byte(nil), wal)
	f.Add(main, []byte(nil))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, main, wal []byte) {
		path := filepath.Join(dir, "fuzz.db")
		if os.WriteFile(path, main, 0o600) != nil || os.WriteFile(path+"-wal", wal, 0o600) != nil {
			t.Fatal("can't write")
		}
		rows(t, path)
	})
}
