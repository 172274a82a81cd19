package fold_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"pgregory.net/rapid"
)

// until returns an oracle of the artifacts up to id, which knows no later record.
func (o oracle) until(id string) oracle {
	o.order = o.order[:slices.Index(o.order, id)+1]
	return o
}

// sameLine reports whether two artifacts are revisions of one family or name.
func (o oracle) sameLine(a, b string) bool {
	p, q := o.published[a], o.published[b]
	return slices.Contains(o.family(a), b) || p.Name != "" && p.Name == q.Name && p.Namespace == q.Namespace
}

// inputs returns what an artifact was made from, of what was known at the time,
// without what a later revision among them answers.
func (o oracle) inputs(a string) []string {
	then := o.until(a)
	var parents, list, seen []string
	for _, id := range o.published[a].Parents {
		if id != a && slices.Contains(then.order, id) {
			parents = append(parents, id)
		}
	}
	var add func(p string)
	add = func(p string) {
		if slices.Contains(seen, p) {
			return
		}
		seen = append(seen, p)
		answered := then.sameLine(p, a) || slices.ContainsFunc(parents, func(q string) bool {
			return then.sameLine(p, q) && slices.Index(o.order, q) > slices.Index(o.order, p)
		})
		if !answered {
			list = append(list, p)
			return
		}
		for _, q := range o.inputs(p) {
			add(q)
		}
	}
	for _, p := range parents {
		add(p)
	}
	return list
}

// stale returns the nearest inputs that are not active.
func (o oracle) stale(a string) []string {
	var list []string
	for _, p := range o.inputs(a) {
		if o.status(p) != handoff.Active {
			list = append(list, p)
		} else {
			list = append(list, o.stale(p)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestStaleInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m, o := memoryOf(t, records), newOracle(records)
		for _, id := range o.order {
			a, err := m.Artifact(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, in := range a.StaleInputs {
				got = append(got, in.ID)
				if in.Channel != o.published[in.ID].Channel || in.Status != o.status(in.ID) {
					t.Errorf("%s: stale input %+v", id, in)
				}
				for _, head := range in.Active {
					if o.status(head.ID) != handoff.Active || !o.sameLine(head.ID, in.ID) {
						t.Errorf("%s: %s is not an active revision of the stale input %s", id, head.ID, in.ID)
					}
				}
			}
			slices.Sort(got)
			if want := o.stale(id); !slices.Equal(got, want) {
				t.Errorf("stale inputs of %s = %v, want %v", id, got, want)
			}
		}
		page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true, IncludeInactive: true})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(o.order), func(id string) bool { return len(o.stale(id)) == 0 })
		if len(page.Artifacts) != len(want) {
			t.Errorf("%d artifacts are stale, want %v", len(page.Artifacts), want)
		}
	})
}

// TestRevisionNumbers compares the number of each artifact with the number of
// those that its family or name had when it was published.
func TestRevisionNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m, o := memoryOf(t, records), newOracle(records)
		for _, id := range o.order {
			a, err := m.Artifact(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			then := o.until(id)
			want := len(then.family(id))
			if a.Name != "" {
				want = len(slices.DeleteFunc(slices.Clone(then.order), func(b string) bool {
					return o.published[b].Name != a.Name || o.published[b].Namespace != a.Namespace
				}))
			}
			if a.Revision != want {
				t.Errorf("%s is revision %d, want %d", id, a.Revision, want)
			}
		}
	})
}

// TestLabels moves labels one record at a time: a label belongs to the artifact of
// its channel that got it last.
func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m, o := memoryOf(t, records), newOracle(records)
		holders, changes, done := map[string]string{}, map[string]int{}, map[string]bool{}
		for i, r := range records {
			f, ok := r.Fact.(*handoff.ArtifactLabeled)
			if !ok || done[r.ID] || f.Label == handoff.LatestLabel {
				continue
			}
			done[r.ID] = true
			known := slices.ContainsFunc(records[:i], func(b handoff.Record) bool { return b.ID == f.ArtifactID })
			p := o.published[f.ArtifactID]
			if p == nil || !known {
				continue
			}
			key := p.Channel + ":" + f.Label
			holder := holders[key]
			switch {
			case f.Removed && holder == f.ArtifactID:
				holders[key] = ""
			case !f.Removed && holder != f.ArtifactID:
				holders[key] = f.ArtifactID
				changes[f.ArtifactID]++
			default:
				continue
			}
			if holder != "" {
				changes[holder]++
			}
		}
		for _, id := range o.order {
			a, err := m.Artifact(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			for _, label := range []string{"approved", "draft", handoff.LatestLabel} {
				if got, want := slices.Contains(a.Labels, label), holders[a.Channel+":"+label] == id; got != want {
					t.Errorf("%s has the label %s: %t, want %t", id, label, got, want)
				}
			}
			if len(a.LabelHistory) != changes[id] {
				t.Errorf("%s has %d changes of labels, want %d", id, len(a.LabelHistory), changes[id])
			}
		}
	})
}

// published returns a record of an artifact.
func published(i int, p handoff.ArtifactPublished) handoff.Record {
	p.Channel, p.Path = "design", "a.md"
	return handoff.Record{Version: 1, ID: fmt.Sprint("a", i), Fact: &p}
}

// TestInputs publishes revisions that take the place of their inputs in the ways
// that agents do.
func TestInputs(t *testing.T) {
	// a0 is replaced by a1, which is replaced by a2.
	designs := []handoff.Record{
		published(0, handoff.ArtifactPublished{}),
		published(1, handoff.ArtifactPublished{Replaces: []string{"a0"}, Parents: []string{"a0"}}),
		published(2, handoff.ArtifactPublished{Replaces: []string{"a1"}, Parents: []string{"a1"}}),
	}
	for _, tt := range []struct {
		name string
		more []handoff.ArtifactPublished // a3 and so on
		want []string                    // stale inputs of the last one
	}{
		{"a revision made from the one before", nil, nil},
		{"from an old design", []handoff.ArtifactPublished{{Parents: []string{"a0"}}}, []string{"a0"}},
		{"from old designs and the newest", []handoff.ArtifactPublished{{Parents: []string{"a1", "a2", "a0"}}}, nil},
		{"transitively", []handoff.ArtifactPublished{{Parents: []string{"a0"}}, {Parents: []string{"a3"}}}, []string{"a0"}},
		{"a patch again, from the newest design",
			[]handoff.ArtifactPublished{{Parents: []string{"a0"}}, {Replaces: []string{"a3"}, Parents: []string{"a3", "a2"}}},
			nil},
		{"a patch again, from the same design",
			[]handoff.ArtifactPublished{{Parents: []string{"a0"}}, {Replaces: []string{"a3"}, Parents: []string{"a3"}}},
			[]string{"a0"}},
		{"from a replaced patch", []handoff.ArtifactPublished{{Parents: []string{"a2"}}, {Replaces: []string{"a3"}},
			{Parents: []string{"a3"}}}, []string{"a3"}},
		{"from something unknown", []handoff.ArtifactPublished{{Parents: []string{"nobody", "a9", "a3"}}}, nil},
	} {
		records := slices.Clone(designs)
		for i, p := range tt.more {
			records = append(records, published(i+3, p))
		}
		m := fold.NewMemory()
		if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
			t.Fatal(err)
		}
		a, err := m.Artifact(t.Context(), records[len(records)-1].ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range a.StaleInputs {
			got = append(got, in.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: stale inputs %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestStaleTwoWays withdraws an artifact, which makes what was made from it stale
// and what was made from its predecessor current again. a4 is both, and reached by
// the shorter way first.
func TestStaleTwoWays(t *testing.T) {
	m := fold.NewMemory()
	if err := m.Apply(t.Context(), logtest.Placed([]handoff.Record{
		published(0, handoff.ArtifactPublished{}),
		published(1, handoff.ArtifactPublished{Replaces: []string{"a0"}}),
		published(2, handoff.ArtifactPublished{Parents: []string{"a1"}}),
		published(3, handoff.ArtifactPublished{Parents: []string{"a2"}}),
		published(4, handoff.ArtifactPublished{Parents: []string{"a3", "a0"}}),
		published(5, handoff.ArtifactPublished{Parents: []string{"a4"}}),
		{Version: 1, ID: "w", Fact: &handoff.ArtifactWithdrawn{ArtifactID: "a1"}},
	})...); err != nil {
		t.Fatal(err)
	}
	a, err := m.Artifact(t.Context(), "a5")
	if err != nil || len(a.StaleInputs) != 1 || a.StaleInputs[0].ID != "a1" {
		t.Errorf("stale inputs %+v, %v, want a1", a.StaleInputs, err)
	}
}

// TestLongChain checks that what a chain of revisions inherits is limited, and
// that a chain of stale artifacts ends a view.
func TestLongChain(t *testing.T) {
	var records []handoff.Record
	for i := 0; i < 1000; i += 2 {
		p := handoff.ArtifactPublished{Parents: []string{fmt.Sprint("a", i)}}
		if i > 0 {
			p.Replaces, p.Parents = []string{fmt.Sprint("a", i-1)}, append(p.Parents, fmt.Sprint("a", i-1))
		}
		records = append(records, published(i, handoff.ArtifactPublished{}), published(i+1, p))
	}
	for i := 1000; i < 3000; i++ {
		records = append(records, published(i,
			handoff.ArtifactPublished{Parents: []string{fmt.Sprint("a", max(i-1, 1000)), "a0"}}))
	}
	records = append(records, handoff.Record{Version: 1, ID: "w", Fact: &handoff.ArtifactWithdrawn{ArtifactID: "a1000"}})
	m := fold.NewMemory()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true})
	if err != nil || len(page.Artifacts) != 1999 {
		t.Errorf("%d artifacts are stale, %v, want 1999", len(page.Artifacts), err)
	}
}
