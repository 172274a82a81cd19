package sqlindex

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestDecodesWhatItShows puts records in place of all but those that are to be
// shown which nobody could decode: a list and a look at one artifact answer all
// the same.
func TestDecodesWhatItShows(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const n, shows = 40, 5
	var records []handoff.Record
	for i := range n {
		r := logtest.NewRecord(fmt.Sprintf("%d.md", i))
		p := r.Fact.(*handoff.ArtifactPublished)
		if i > 0 {
			p.Parents = []string{records[i-1].ID, records[0].ID}
		}
		if i > 0 && i%7 == 0 {
			p.Replaces = []string{records[i-1].ID}
		}
		records = append(records, r)
	}
	if err := x.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	queries := []handoff.ArtifactQuery{{Limit: shows}, {Limit: shows, IncludeInactive: true},
		{Limit: shows, Channel: "design"}}
	var want []handoff.ArtifactPage
	for _, q := range queries {
		page, err := x.Artifacts(t.Context(), q)
		if err != nil || len(page.Artifacts) != shows || page.Cursor == "" {
			t.Fatalf("Artifacts(%+v) = %d artifacts, cursor %q, %v", q, len(page.Artifacts), page.Cursor, err)
		}
		want = append(want, page)
	}
	last, err := x.Artifact(t.Context(), records[n-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	err = x.transact(t.Context(), "BEGIN IMMEDIATE", func(c *sqlite.Conn) error {
		for seq := range int64(n - shows) {
			var state string
			if _, err := c.One(t.Context(), `SELECT state FROM artifacts WHERE seq = ?`, []any{seq + 1},
				func(r *sqlite.Row) { state = r.Text() }); err != nil {
				return err
			}
			nothing := []byte("no record")
			if err := c.Exec(t.Context(), `UPDATE artifacts SET record = ?, sum = ? WHERE seq = ?`, nothing,
				checksum(seq+1, nothing, state), seq+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		page, err := x.Artifacts(t.Context(), q)
		if err != nil || !reflect.DeepEqual(page, want[i]) {
			t.Errorf("Artifacts(%+v) is another page, with %v", q, err)
		}
	}
	if got, err := x.Artifact(t.Context(), records[n-1].ID); err != nil || !reflect.DeepEqual(got, last) {
		t.Errorf("Artifact is another one, with %v", err)
	}
	if _, err := x.Artifacts(t.Context(), handoff.ArtifactQuery{Limit: n}); err == nil {
		t.Error("a list of all finds no harm: the test does nothing")
	}
}
