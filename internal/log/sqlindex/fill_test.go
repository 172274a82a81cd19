package sqlindex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
	"pgregory.net/rapid"
)

// reading returns what reads records, and has notes that it was asked.
func reading(records []handoff.Record, asked ...*[]handoff.Seq) Reading {
	return func(after handoff.Seq) iter.Seq2[handoff.Record, error] {
		for _, list := range asked {
			*list = append(*list, after)
		}
		return listLog{records: records}.Read(context.Background(), after)
	}
}

func noProgress(handoff.Seq) {}

// dump returns the schema of an index and the rows of its tables, without what depends on the clock
// and on how many records were applied at once.
func dump(t logtest.TB, x *Index) []string {
	t.Helper()
	var lines []string
	err := x.read(t.Context(), func(c *sqlite.Conn) error {
		s := newStore(t.Context(), c)
		texts := func(query string) (list []string, err error) {
			return list, s.load(query, func(r *sqlite.Row) error {
				list = append(list, fmt.Sprint(r.Value(0)))
				return nil
			})
		}
		add := func(name, query string) error {
			list, err := texts(query)
			for _, text := range list {
				lines = append(lines, name+": "+text)
			}
			return err
		}
		tables, err := texts(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%texts%'`)
		for _, table := range tables {
			rows := table
			switch table {
			case "totals":
				rows += ` WHERE n <> 0`
			case "unrendered":
				continue
			}
			columns, err := texts(`SELECT 'quote("' || name || '")' FROM pragma_table_info('` + table + `')`)
			if err = errors.Join(err, add(table, `SELECT `+strings.Join(columns, " || ',' || ")+` FROM `+rows)); err != nil {
				return err
			}
		}
		return errors.Join(err, add("schema", `SELECT coalesce(sql, name) FROM sqlite_schema`),
			add("journal", `PRAGMA journal_mode`), add("owner", `PRAGMA application_id`), add("check", `PRAGMA integrity_check`),
			add("unrendered", `SELECT id FROM unrendered`))
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	slices.Sort(lines)
	return lines
}

// sameIndex compares the index of records in a file with one to which they were applied one by one.
func sameIndex(t logtest.TB, file string, records []handoff.Record) {
	t.Helper()
	other := file + "-applied"
	for _, suffix := range []string{"", "-wal", "-shm"} {
		defer os.Remove(other + suffix)
		defer os.Remove(file + suffix)
	}
	got, err := Open(t.Context(), file, "log1")
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer got.Close()
	want, err := Open(t.Context(), other, "log1")
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer want.Close()
	for _, r := range records {
		if err := want.Apply(t.Context(), r); err != nil {
			t.Fatalf("%v", err)
		}
	}
	gotLines, wantLines := dump(t, got), dump(t, want)
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("the index that was filled has %q\nthe other one has %q", gotLines[min(i, len(gotLines)):],
				wantLines[min(i, len(wantLines)):])
		}
	}
	for _, name := range []string{Filling(file), paused(file)} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s exists", name)
		}
	}
}

// TestFill compares for random facts every table of an index that was filled at once, or in two
// parts, with one to which they were applied one by one.
func TestFill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index.db")
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > 40 && os.Getenv("HANDOFF_LONG") == "" {
			return
		}
		records := logtest.DrawRecords(rt)
		first := rapid.IntRange(0, len(records)).Draw(rt, "first")
		ctx, stop := context.WithCancel(rt.Context())
		defer stop()
		var asked []handoff.Seq
		err := Fill(ctx, file, "log1", func(after handoff.Seq) iter.Seq2[handoff.Record, error] {
			return func(yield func(handoff.Record, error) bool) {
				for r := range reading(records[:first], &asked)(after) {
					if !yield(r, nil) {
						return
					}
				}
				stop()
				if first < len(records) {
					yield(records[first], nil)
				}
			}
		}, noProgress)
		if !errors.Is(err, context.Canceled) {
			rt.Fatalf("Fill whose context ends = %v", err)
		}
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			rt.Fatalf("the index exists before it is complete, %v", err)
		}
		if err := Fill(rt.Context(), file, "log1", reading(records, &asked), noProgress); err != nil {
			rt.Fatal(err)
		}
		if want := []handoff.Seq{0, handoff.Seq(first)}; !slices.Equal(asked, want) {
			rt.Errorf("Fill read the log after %v, want %v", asked, want)
		}
		sameIndex(rt, file, records)
	})
}

// TestFillBatches fills an index with more records than are applied at once, and checks that each
// batch is reported, and that an error of the log ends the index before it.
func TestFillBatches(t *testing.T) {
	var records []handoff.Record
	for i := range 2*applyBatch + 10 {
		r := logtest.NewRecord(fmt.Sprintf("%d.md", i))
		p := r.Fact.(*handoff.ArtifactPublished)
		p.Namespace, p.Name = "s1", fmt.Sprintf("%d.md", i%100)
		if i > 700 && i%3 == 0 {
			p.Parents = []string{records[i-700].ID, records[i-1].ID}
		}
		if i > 600 && i%7 == 0 {
			p.Replaces = []string{records[i-600].ID}
		}
		records = append(records, r)
	}
	records = logtest.Placed(records)
	file := filepath.Join(t.TempDir(), "index.db")
	var got []handoff.Seq
	read := func(after handoff.Seq) iter.Seq2[handoff.Record, error] {
		return func(yield func(handoff.Record, error) bool) {
			for r := range reading(records)(after) {
				if !yield(r, nil) {
					return
				}
			}
			yield(handoff.Record{}, handoff.Corrupt)
		}
	}
	err := Fill(t.Context(), file, "log1", read, func(seq handoff.Seq) { got = append(got, seq) })
	if err != nil {
		t.Fatal(err)
	}
	if want := []handoff.Seq{applyBatch, 2 * applyBatch}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	sameIndex(t, file, records)
}

// TestFillLeftovers fills an index where a killed process left its files, and where a write-ahead log of
// another index is.
func TestFillLeftovers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index.db")
	for _, name := range []string{Filling(file), paused(file)} {
		if !durable.IsTemporary(filepath.Base(name)) {
			t.Errorf("%s is not the name of a temporary file", name)
		}
	}
	for _, name := range []string{Filling(file), Filling(file) + "-journal", Filling(file) + "-wal", file + "-wal",
		file + "-shm"} {
		if err := os.WriteFile(name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	records := logtest.Placed([]handoff.Record{logtest.NewRecord("a.md"), logtest.NewRecord("b.md")})
	if err := Fill(t.Context(), file, "log1", reading(records), noProgress); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, file, records)
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestFillFails can't create a file: nothing remains.
func TestFillFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "none", "index.db")
	var fault *Error
	if err := Fill(t.Context(), file, "log1", reading(nil), noProgress); !errors.As(err, &fault) {
		t.Errorf("Fill = %v, want an *Error", err)
	}
	file = filepath.Join(dir, "index.db")
	if err := os.Symlink("elsewhere", paused(file)); err != nil {
		t.Fatal(err)
	}
	if err := Fill(t.Context(), file, "log1", reading(nil), noProgress); !errors.As(err, &fault) {
		t.Errorf("Fill with a link = %v, want an *Error", err)
	}
}
