package fold

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
)

// fold applies facts to an empty state, with the IDs f0, f1 and so on.
func fold(t *testing.T, facts ...handoff.Fact) *tables {
	t.Helper()
	m := NewMemory()
	for i, f := range facts {
		r := handoff.Record{Seq: handoff.Seq(i + 1), Version: handoff.Version, Type: "test", ID: fmt.Sprint("f", i), Fact: f}
		if err := Apply(&m.tables, r); err != nil {
			t.Fatal(err)
		}
	}
	return &m.tables
}

// TestReplacesTwice names one artifact twice in Replaces: it counts once.
func TestReplacesTwice(t *testing.T) {
	replaced := &handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"}
	twice := &handoff.ArtifactPublished{Channel: "design", Path: "b.md", TargetType: "file",
		Replaces: []string{"f0", "f0"}}
	s := fold(t, replaced, twice)
	if got, want := s.artifacts["f1"].Replaced, []string{"f0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("f1 replaces %q, want %q", got, want)
	}
	if a := s.artifacts["f0"]; a.SupersededBy != 1 || len(a.ReplacedBy) != 1 {
		t.Errorf("f0 is superseded by %d, replaced by %q, want 1 and f1", a.SupersededBy, a.ReplacedBy)
	}
	s = fold(t, replaced, twice, &handoff.ArtifactWithdrawn{ArtifactID: "f1"})
	if a := s.artifacts["f0"]; a.SupersededBy != 0 || a.Status() != handoff.Active {
		t.Errorf("after the withdrawal, f0 is %s, superseded by %d, want active and 0", a.Status(), a.SupersededBy)
	}
}

// TestWithdrawnRevisions withdraws revisions 1, 2 and 3 of a name in some order:
// the head is the newest revision that is not withdrawn.
func TestWithdrawnRevisions(t *testing.T) {
	revision := &handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file", Namespace: "run",
		Name: "a.md"}
	for _, tt := range []struct {
		withdrawn []int
		want      []handoff.Status // of the revisions
	}{
		{nil, []handoff.Status{handoff.Superseded, handoff.Superseded, handoff.Active}},
		{[]int{3}, []handoff.Status{handoff.Superseded, handoff.Active, handoff.Withdrawn}},
		{[]int{2}, []handoff.Status{handoff.Superseded, handoff.Withdrawn, handoff.Active}},
		{[]int{2, 3}, []handoff.Status{handoff.Active, handoff.Withdrawn, handoff.Withdrawn}},
		{[]int{3, 2}, []handoff.Status{handoff.Active, handoff.Withdrawn, handoff.Withdrawn}},
		{[]int{1, 2}, []handoff.Status{handoff.Withdrawn, handoff.Withdrawn, handoff.Active}},
		{[]int{3, 1}, []handoff.Status{handoff.Withdrawn, handoff.Active, handoff.Withdrawn}},
		{[]int{1, 2, 3}, []handoff.Status{handoff.Withdrawn, handoff.Withdrawn, handoff.Withdrawn}},
		{[]int{3, 2, 1}, []handoff.Status{handoff.Withdrawn, handoff.Withdrawn, handoff.Withdrawn}},
	} {
		facts := []handoff.Fact{revision, revision, revision}
		for _, i := range tt.withdrawn {
			facts = append(facts, &handoff.ArtifactWithdrawn{ArtifactID: fmt.Sprint("f", i-1)})
		}
		s := fold(t, facts...)
		var got []handoff.Status
		head := ""
		for i := range 3 {
			a := s.artifacts[fmt.Sprint("f", i)]
			if got = append(got, a.Status()); a.Status() == handoff.Active {
				head = a.ID
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("withdrawn %v: got %v, want %v", tt.withdrawn, got, tt.want)
		}
		if pointer, _ := s.Pointer(nameSpace, nameKey(revision)); pointer != head {
			t.Errorf("withdrawn %v: the head is %q, want %q", tt.withdrawn, pointer, head)
		}
	}
	// A revision after withdrawn ones supersedes the head that was restored.
	s := fold(t, revision, revision, &handoff.ArtifactWithdrawn{ArtifactID: "f1"}, revision,
		&handoff.ArtifactWithdrawn{ArtifactID: "f3"})
	if got := s.artifacts["f0"].Status(); got != handoff.Active {
		t.Errorf("revision 1 is %s after all later ones were withdrawn, want active", got)
	}
}
