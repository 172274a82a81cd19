package threadindex_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
)

// TestDigest checks that the digest in the index is that of its transcripts after each
// update, and that a query reads no row about a transcript if none has changed.
func TestDigest(t *testing.T) {
	tr := newTree(t, 3)
	file := filepath.Join(t.TempDir(), "threads.db")
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, func() time.Time {
		return time.Now().Add(time.Hour)
	}, nil)
	search := func() {
		t.Helper()
		r, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
		if must(t, err); len(r.Warnings) > 0 {
			t.Fatalf("got warnings %q", r.Warnings)
		}
	}
	db, err := sql.Open("sqlite", file)
	must(t, err)
	defer db.Close()
	for range 5 {
		tr.create()
		tr.change()
		search()
		rows, err := db.Query("SELECT state FROM transcripts")
		must(t, err)
		var n, want, got int64
		for rows.Next() {
			must(t, rows.Scan(&n))
			want ^= n
		}
		must(t, rows.Err())
		must(t, db.QueryRow("SELECT states FROM digest").Scan(&got))
		if got != want || got == 0 {
			t.Fatalf("got digest %d, want %d", got, want)
		}
	}
	_, err = db.Exec("ALTER TABLE transcripts RENAME TO hidden")
	must(t, err)
	search()
	again, err := sql.Open("sqlite", file) // a rebuilt index is another file
	must(t, err)
	defer again.Close()
	if _, err := again.Exec("SELECT count(*) FROM hidden"); err != nil {
		t.Errorf("the index was read, and rebuilt because of a missing table: %v", err)
	}
}

// TestClockSetBack has transcripts that changed later than it is now. They are read once.
func TestClockSetBack(t *testing.T) {
	tr := newTree(t, 7)
	for range 5 {
		tr.create()
	}
	updates := 0
	now := func() time.Time { return time.Now().Add(-time.Hour) }
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), filepath.Join(t.TempDir(), "threads.db"), now,
		func(int, int) { updates++ })
	for n := range 3 {
		_, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
		if must(t, err); updates != 1 {
			t.Fatalf("after search %d: the index was updated %d times, want once", n+1, updates)
		}
	}
}

// TestRemovedByAnother removes two transcripts, of which another process removes one from
// the index first.
func TestRemovedByAnother(t *testing.T) {
	tr := newTree(t, 4)
	for range 3 {
		tr.create()
	}
	file := filepath.Join(t.TempDir(), "threads.db")
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, time.Now, nil)
	_, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
	must(t, err)
	db, err := sql.Open("sqlite", file)
	must(t, err)
	defer db.Close()
	_, err = db.Exec("CREATE TRIGGER another AFTER DELETE ON transcripts BEGIN DELETE FROM transcripts; END")
	must(t, err)
	must(t, os.RemoveAll(tr.home))
	r, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
	if must(t, err); len(r.Warnings) > 0 {
		t.Errorf("got warnings %q", r.Warnings)
	}
}

// TestStoredByAnother has another process store all transcripts while the first one builds the
// index. The first one replaces what it has not stored yet.
func TestStoredByAnother(t *testing.T) {
	tr := newTree(t, 13)
	for range 150 { // more than one transaction has
		id := tr.id()
		tr.write(filepath.Join(tr.home, ".claude", "projects", "-work", id+".jsonl"), tr.claudeLine(id, ""))
	}
	file := filepath.Join(t.TempDir(), "threads.db")
	search := func(progress func(done, total int)) {
		t.Helper()
		index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, time.Now().Add(time.Hour).UTC, progress)
		r, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
		if must(t, err); len(r.Warnings) > 0 {
			t.Errorf("got warnings %q", r.Warnings)
		}
	}
	stored := 0
	search(func(int, int) {
		if stored++; stored == 1 {
			search(nil)
		}
	})
	if stored < 2 {
		t.Errorf("the index was built in %d transactions, want several", stored)
	}
}

// TestTimes has transcripts and conditions with times that a number of nanoseconds can't
// express.
func TestTimes(t *testing.T) {
	tr := newTree(t, 6)
	for range 8 {
		tr.create()
	}
	for i, path := range tr.files() {
		at := time.Date([]int{2026, 2300, 2025, 2440, 1902}[i%5], 1, 2, 3, 4, 5, 0, time.UTC)
		must(t, os.Chtimes(path, at, at))
	}
	files := threadindex.NewFiles(tr.set())
	index := threadindex.NewIndex(files, filepath.Join(t.TempDir(), "threads.db"), time.Now, nil)
	_, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
	must(t, err)
	for _, year := range []int{1, 1600, 1950, 2025, 2261, 2300, 9999} {
		at := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		for _, q := range []threadindex.Query{{Since: at}, {Until: at}, {Since: at, Limit: 1}} {
			want, err := files.List(t.Context(), q)
			must(t, err)
			got, err := index.List(t.Context(), q)
			must(t, err)
			tr.same(fmt.Sprintf("%d, limit %d", year, q.Limit), got, want)
		}
	}
}

// TestDamagedValues damages values in an index. The answers are those of the files, and
// the index is rebuilt.
func TestDamagedValues(t *testing.T) {
	tr := newTree(t, 5)
	for range 12 {
		tr.create()
	}
	later := func() time.Time { return time.Now().Add(time.Hour) }
	files := threadindex.NewFiles(tr.set())
	answers := func(a threadindex.Archive) []any {
		page, err := a.List(t.Context(), threadindex.Query{})
		must(t, err)
		found, err := a.Search(t.Context(), threadindex.Search{Path: "/"})
		must(t, err)
		all := []any{page, found}
		warnings, err := a.EachUsage(t.Context(), threadindex.Query{}, func(u threadindex.ThreadUsage) error {
			all = append(all, u)
			return nil
		})
		must(t, err)
		more, err := a.Lookup(t.Context(), 0, func(l threadindex.Lookup) error {
			for _, i := range page.Threads {
				item, err := l.Item(t.Context(), i.URI)
				if err == nil {
					all = append(all, item.URI)
				}
			}
			return nil
		})
		must(t, err)
		return append(all, warnings, more)
	}
	want := answers(files)
	for _, damage := range []string{
		"UPDATE threads SET item = '{' WHERE id = (SELECT max(id) FROM threads)",
		"UPDATE threads SET item = ''",
		"UPDATE threads SET item = '{\"uri\": 5}'",
		"UPDATE threads SET item = '{\"modifiedAt\": \"x\"}'",
		"UPDATE requests SET list = x'0005'",
		"UPDATE requests SET list = x'0105' WHERE thread = (SELECT max(thread) FROM requests)",
		"UPDATE requests SET list = substr(list, 1, length(list) - 1)",
	} {
		file := filepath.Join(t.TempDir(), "threads.db")
		index := threadindex.NewIndex(files, file, later, nil)
		_, err := index.Search(t.Context(), threadindex.Search{Text: "absent"})
		must(t, err)
		db, err := sql.Open("sqlite", file)
		must(t, err)
		r, err := db.Exec(damage)
		must(t, err)
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", damage, n, err)
		}
		must(t, db.Close())
		tr.same(damage, answers(index), want)
		info, err := os.Stat(file)
		must(t, err)
		tr.same(damage+", again", answers(index), want)
		if again, err := os.Stat(file); err != nil || !os.SameFile(info, again) {
			t.Errorf("%s: the index was rebuilt twice (%v)", damage, err)
		}
	}
}
