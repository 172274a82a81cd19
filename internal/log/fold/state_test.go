package fold_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// folded applies facts to an empty state, with the IDs f0, f1 and so on.
func folded(t *testing.T, facts ...handoff.Fact) *logtest.Reference {
	t.Helper()
	m := logtest.NewReference()
	for i, f := range facts {
		r := handoff.Record{Seq: handoff.Seq(i + 1), Version: handoff.Version, Type: "test", ID: fmt.Sprint("f", i), Fact: f}
		if err := m.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func shown(t *testing.T, m *logtest.Reference, id string) handoff.Artifact {
	t.Helper()
	a, err := m.Artifact(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReplacesTwice names one artifact twice in Replaces: it counts once.
func TestReplacesTwice(t *testing.T) {
	replaced := &handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"}
	twice := &handoff.ArtifactPublished{Channel: "design", Path: "b.md", TargetType: "file",
		Replaces: []string{"f0", "f0"}}
	s := folded(t, replaced, twice)
	a := shown(t, s, "f0")
	if want := []string{"f1"}; a.Status != handoff.Superseded || !reflect.DeepEqual(a.ReplacedBy, want) {
		t.Errorf("f0 is %s, replaced by %q, want superseded and %q", a.Status, a.ReplacedBy, want)
	}
	s = folded(t, replaced, twice, &handoff.ArtifactWithdrawn{ArtifactID: "f1"})
	if a := shown(t, s, "f0"); a.Status != handoff.Active {
		t.Errorf("after the withdrawal, f0 is %s, want active", a.Status)
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
		s := folded(t, facts...)
		var got []handoff.Status
		head := ""
		for i := range 3 {
			a := shown(t, s, fmt.Sprint("f", i))
			if got = append(got, a.Status); a.Status == handoff.Active {
				head = a.ID
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("withdrawn %v: got %v, want %v", tt.withdrawn, got, tt.want)
		}
		if head == "" {
			continue
		}
		s = folded(t, append(facts, revision)...)
		if got := shown(t, s, head).Status; got != handoff.Superseded {
			t.Errorf("withdrawn %v: the head %s is %s after the next revision, want superseded", tt.withdrawn, head, got)
		}
	}
	// A revision after withdrawn ones supersedes the head that was restored.
	s := folded(t, revision, revision, &handoff.ArtifactWithdrawn{ArtifactID: "f1"}, revision,
		&handoff.ArtifactWithdrawn{ArtifactID: "f3"})
	if got := shown(t, s, "f0").Status; got != handoff.Active {
		t.Errorf("revision 1 is %s after all later ones were withdrawn, want active", got)
	}
}
