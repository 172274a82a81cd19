package threadtest

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// isDatabase reports whether a file is a SQLite database.
func isDatabase(content []byte) bool { return bytes.HasPrefix(content, []byte("SQLite format 3\x00")) }

// A change is a renaming in a database: its name, and the statements that do it.
type change struct {
	what       string
	statements []statement
}

type statement struct {
	query string
	args  []any
}

// changes returns the renamings of a database: of its tables, of columns with usage, and
// of types in its columns, and of types and members with usage in the JSON in its columns.
func changes(t testing.TB, path string) (list []change) {
	t.Helper()
	db := open(t, path, "")
	defer db.Close()
	for _, table := range names(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
		if rows(t, db, table) == 0 {
			continue
		}
		list = append(list, change{"table " + table,
			[]statement{{fmt.Sprintf("ALTER TABLE %q RENAME TO %q", table, "renamed_"+table), nil}}})
		for _, column := range names(t, db, "SELECT name FROM pragma_table_info('"+table+"')") {
			list = append(list, columnChanges(t, db, table, column)...)
		}
	}
	return list
}

func columnChanges(t testing.TB, db *sql.DB, table, column string) (list []change) {
	if usageNames.MatchString(column) {
		list = append(list, change{"column " + table + "." + column,
			[]statement{{fmt.Sprintf("ALTER TABLE %q RENAME COLUMN %q TO %q", table, column, "renamed_"+column), nil}}})
	}
	if slices.Contains(typeNames, column) {
		for _, value := range names(t, db, fmt.Sprintf("SELECT DISTINCT %q FROM %q WHERE typeof(%q) = 'text'", column, table,
			column)) {
			list = append(list, change{table + "." + column + "=" + value, []statement{{
				fmt.Sprintf("UPDATE %q SET %q = 'renamed_' || %q WHERE %q = ?", table, column, column, column), []any{value}}}})
		}
	}
	return append(list, jsonChanges(t, db, table, column)...)
}

// jsonChanges returns the renamings in the JSON of a column.
func jsonChanges(t testing.TB, db *sql.DB, table, column string) (list []change) {
	result, err := db.Query(fmt.Sprintf("SELECT rowid, CAST(%q AS TEXT) FROM %q WHERE substr(CAST(%q AS TEXT), 1, 1) = '{'",
		column, table, column))
	if err != nil {
		return nil // a table without a rowid
	}
	defer result.Close()
	update := fmt.Sprintf("UPDATE %q SET %q = ? WHERE rowid = ?", table, column)
	byName := map[string][]statement{}
	for result.Next() {
		var row int64
		var text string
		if err := result.Scan(&row, &text); err != nil {
			t.Fatal(err)
		}
		for _, r := range renamings([]byte(text)) {
			byName[r.what] = append(byName[r.what], statement{update, []any{string(r.apply([]byte(text))), row}})
		}
	}
	for _, what := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, change{table + "." + column + "." + what, byName[what]})
	}
	return list
}

func names(t testing.TB, db *sql.DB, query string) (list []string) {
	t.Helper()
	result, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer result.Close()
	for result.Next() {
		var name string
		if err := result.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	return list
}

func rows(t testing.TB, db *sql.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM %q", table)).Scan(&n); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	return n
}

// mergeLog writes a database as one file, without a write-ahead log.
func mergeLog(t testing.TB, path string) {
	t.Helper()
	db := open(t, path, "")
	defer db.Close()
	exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	exec(t, db, "PRAGMA journal_mode=delete")
}

// apply changes the database at path. It reports false if the database does not permit
// the change.
func (c change) apply(t testing.TB, path string) bool {
	t.Helper()
	db := open(t, path, "&_pragma=legacy_alter_table(1)")
	defer db.Close()
	for _, s := range c.statements {
		if _, err := db.Exec(s.query, s.args...); err != nil {
			if strings.HasPrefix(s.query, "ALTER") {
				return false // a view or a trigger needs it
			}
			t.Fatalf("%s: %v", c.what, err)
		}
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		os.Remove(path + suffix)
	}
	return true
}
