package sqlindex

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestCompeting checks after each record which artifacts compete with another
// active one of their family.
func TestCompeting(t *testing.T) {
	x, err := Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log1")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var list []handoff.Record
	apply := func(r handoff.Record, want ...string) {
		t.Helper()
		list = append(list, r)
		if err := x.Apply(t.Context(), logtest.Placed(list)[len(list)-1]); err != nil {
			t.Fatal(err)
		}
		page, err := x.Artifacts(t.Context(), handoff.ArtifactQuery{Competing: true})
		if err != nil || page.HiddenCount != 0 {
			t.Fatal(page.HiddenCount, err)
		}
		var got []string
		for _, a := range page.Artifacts {
			got = append(got, a.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after record %d: got %q, want %q", len(list), got, want)
		}
	}
	publish := func(path string, replaces ...handoff.Record) handoff.Record {
		r := logtest.NewRecord(path)
		for _, old := range replaces {
			r.Fact.(*handoff.ArtifactPublished).Replaces = append(r.Fact.(*handoff.ArtifactPublished).Replaces, old.ID)
		}
		return r
	}
	withdraw := func(old handoff.Record) handoff.Record {
		r := logtest.NewRecord("")
		r.ID, r.Type, r.Fact = "rec_"+r.ID[len("art_"):], "artifact.withdrawn", &handoff.ArtifactWithdrawn{ArtifactID: old.ID}
		return r
	}
	first := publish("first")
	apply(first)
	left := publish("left", first)
	apply(left)
	right := publish("right", first)
	apply(right, "right", "left")
	apply(publish("other"), "right", "left")
	apply(withdraw(right))
	again := publish("again", first)
	apply(again, "again", "left")
	merged := publish("merged", left, again)
	apply(merged)
	apply(withdraw(merged), "again", "left")
}
