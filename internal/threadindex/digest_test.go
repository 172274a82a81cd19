package threadindex_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/threadindex"
)

// TestDigest checks that the digest in the index is that of its transcripts after each
// update, and that a query reads no row about a transcript if none has changed.
func TestDigest(t *testing.T) {
	tr := newTree(t, 3)
	file := filepath.Join(t.TempDir(), "threads.db")
	index := threadindex.NewIndex(threadindex.NewFiles(tr.set()), file, func() time.Time { return time.Now().Add(time.Hour) }, nil)
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
