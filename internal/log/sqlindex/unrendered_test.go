package sqlindex_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// TestUnrendered follows what is to be rendered through records and renderings.
func TestUnrendered(t *testing.T) {
	x, err := sqlindex.Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var seq handoff.Seq
	record := func(typ, id string, p handoff.Producer, f handoff.Fact) {
		t.Helper()
		seq++
		r := handoff.Record{Seq: seq, Version: 1, Type: typ, ID: id, CreatedAt: time.Unix(int64(seq), 0), Producer: p,
			Fact: f}
		if err := x.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	rendered := func(id string, upTo handoff.Seq) {
		t.Helper()
		if _, err := x.Manifests().Rendered(t.Context(), id, upTo, "sum"); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		got, err := x.Manifests().Unrendered(t.Context(), 0, 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after record %d %v are to be rendered, %v, want %v", seq, got, err, want)
		}
	}
	const artifact = "art_00000000000000000000000001"
	check()
	record("session.opened", "r1", handoff.Producer{}, &handoff.SessionOpened{SessionID: "a"})
	record("session.opened", "r2", handoff.Producer{}, &handoff.SessionOpened{SessionID: "b"})
	check("b", "a")
	rendered("a", 1)
	check("b")
	rendered("b", 1) // the manifest lacks the session's own record
	check("b")
	rendered("b", 0)
	check("b")
	rendered("b", 2)
	check()
	record("session.opened", "r3", handoff.Producer{}, &handoff.SessionOpened{SessionID: "run", Parent: "a"})
	check() // a run has no manifest
	record("artifact.published", artifact, handoff.Producer{Session: "a"},
		&handoff.ArtifactPublished{Channel: "c", Path: "x"})
	check("a")
	rendered("a", seq)
	record("artifact.withdrawn", "r5", handoff.Producer{Session: "b"}, &handoff.ArtifactWithdrawn{ArtifactID: artifact})
	check("a") // whoever withdrew it: its session shows that
	record("artifact.published", "art_00000000000000000000000002", handoff.Producer{Session: "a harness's own"},
		&handoff.ArtifactPublished{Channel: "c", Path: "x"})
	check("a")
	record("session.noted", "r7", handoff.Producer{}, &handoff.SessionNoted{SessionID: "b", Tags: []string{"t"}})
	check("b", "a")
	if got, err := x.Manifests().Unrendered(t.Context(), time.Hour, 10); err != nil || len(got) != 0 {
		t.Errorf("for an hour %v were to be rendered, %v", got, err)
	}
	if got, err := x.Manifests().Unrendered(t.Context(), 0, 1); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("the first to be rendered is %v, %v, want b", got, err)
	}
}
