package sqlindex_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// TestAlteredRow changes one stored value of an artifact at a time: whatever reads
// the row reports a damaged index.
func TestAlteredRow(t *testing.T) {
	for _, change := range []string{
		`record = cast(replace(cast(record AS TEXT), '1.md', '2.md') AS BLOB)`, // the same length
		`state = '{"withdrawn":true}'`,
		`sum = sum + 1`,
		`status = 'superseded'`,
	} {
		file := filepath.Join(t.TempDir(), "index.db")
		x, err := sqlindex.Open(t.Context(), file, "log")
		if err != nil {
			t.Fatal(err)
		}
		records := logtest.Placed([]handoff.Record{logtest.NewRecord("0.md"), logtest.NewRecord("1.md")})
		if err := errors.Join(x.Apply(t.Context(), records...), x.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`UPDATE artifacts SET ` + change + ` WHERE seq = 2`)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if x, err = sqlindex.Open(t.Context(), file, "log"); err != nil {
			t.Fatal(err)
		}
		_, one := x.Artifact(t.Context(), records[1].ID)
		_, page := x.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
		for what, err := range map[string]error{"Artifact": one, "Artifacts": page} {
			var fault *sqlindex.Error
			if !errors.As(err, &fault) || !fault.Damaged {
				t.Errorf("%s: %s = %v, want a damaged index", change, what, err)
			}
		}
		if _, err := x.Artifact(t.Context(), records[0].ID); err != nil {
			t.Errorf("%s: the other artifact: %v", change, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
