package threadtest

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/agent-handoff/handoff"
)

// WriteDatabase writes a SQLite database as a running tool leaves it: what write
// executes is in the write-ahead log. The elements of its path are joined.
func WriteDatabase(t testing.TB, write func(exec func(query string, args ...any)), path ...string) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "live.db")
	db := open(t, live, "&_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	defer db.Close()
	write(func(query string, args ...any) { exec(t, db, query, args...) })
	to := filepath.FromSlash(filepath.Join(path...))
	for _, suffix := range []string{"", "-wal"} {
		if _, err := os.Stat(live + suffix); err == nil {
			WriteFile(t, ReadFile(t, live+suffix), to+suffix)
		}
	}
}

func open(t testing.TB, path, pragmas string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3f").Replace(path)+
		"?_pragma=synchronous(0)"+pragmas)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

func exec(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	r, err := db.Exec(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	n, _ := r.RowsAffected()
	return n
}

// CheckRowStatuses removes the last messages of each thread of a suite one by one, and
// compares the states with testdata/statuses.txt. session is the column of the table
// that has the ID of the thread, or of its part after the prefix.
func CheckRowStatuses(t *testing.T, s Suite, table, session, prefix string) {
	t.Helper()
	home := t.TempDir()
	var got strings.Builder
	for _, w := range s.Write(t, home) {
		p := s.provider(t, s.set(home))
		th, err := p.Thread(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		db := open(t, th.Source, "")
		fmt.Fprintf(&got, "%s\n", w.ID)
		for {
			if err := th.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%4d %s\n", th.Lines, describe(th.State))
			query := fmt.Sprintf("DELETE FROM %s WHERE rowid = (SELECT max(rowid) FROM %s WHERE %s = ?)", table, table,
				session)
			if exec(t, db, query, strings.TrimPrefix(w.ID, prefix)) == 0 {
				break
			}
		}
		db.Close()
	}
	Golden(t, "statuses.txt", got.String())
}

// CheckDamagedDatabase truncates the databases of a suite, and overwrites parts of
// them. Each thread must be readable, or fail with an error that has a kind.
func CheckDamagedDatabase(t *testing.T, s Suite) {
	t.Helper()
	home := t.TempDir()
	want := s.Write(t, home)
	files := map[string][]byte{}
	for _, w := range want {
		th, err := s.provider(t, s.set(home)).Thread(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		db := open(t, th.Source, "")
		exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
		exec(t, db, "PRAGMA journal_mode=delete")
		db.Close()
		files[th.Source] = []byte(ReadFile(t, th.Source))
	}
	for path, content := range files {
		for i := 0; i < len(content); i += 1 + len(content)/40 {
			damaged := append([]byte{}, content...)
			for j := i; j < min(len(damaged), i+64); j++ {
				damaged[j] ^= 0xa5
			}
			for _, b := range [][]byte{content[:i], damaged} {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				s.checkKinds(t, home, want)
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkKinds reads threads, of which each is readable or an error with a kind.
func (s Suite) checkKinds(t *testing.T, home string, want []Thread) {
	t.Helper()
	p := s.provider(t, s.set(home))
	for _, w := range want {
		th, err := p.Thread(t.Context(), w.ID)
		if err == nil {
			err = th.Load(t.Context())
		}
		if err == nil && th.State.Status != "" && th.State.Evidence != "" {
			continue
		}
		if known := new(handoff.Error); !errors.As(err, &known) {
			t.Errorf("%s: got %v, %+v", w.ID, err, th)
		}
	}
	for _, err := range p.Threads(t.Context()) {
		if known := new(handoff.Error); err != nil && !errors.As(err, &known) {
			t.Errorf("threads: got %v", err)
		}
	}
}
