package sqlindex

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestOwner opens databases that are not an index of handoff: none is changed,
// and only an index of an older version counts as damaged, so that it is
// quarantined.
func TestOwner(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements []string
		damaged    bool
	}{
		{"another program's", []string{`CREATE TABLE mine (x)`, `INSERT INTO mine VALUES (1)`}, false},
		{"another program's place", []string{`CREATE TABLE place (street TEXT)`}, false},
		{"another program's ID", []string{`PRAGMA application_id = 42`, `CREATE TABLE mine (x)`}, false},
		{"another log's", []string{`PRAGMA application_id = 1751412582`,
			`CREATE TABLE place (version, log, seq, id, text_seq)`, `INSERT INTO place VALUES (6, 'other', 0, '', 0)`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "index.db")
			db := sqlite.New(file, "file:"+file)
			for _, statement := range tt.statements {
				if err := db.Use(t.Context(), func(c *sqlite.Conn) error { return c.Exec(t.Context(), statement) }); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), file, "log")
			var fault *Error
			if !errors.As(err, &fault) || fault.Damaged != tt.damaged {
				t.Errorf("Open = %v, want an *Error with Damaged %t", err, tt.damaged)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
}
