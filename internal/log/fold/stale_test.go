package fold_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
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

// links are what an artifact was made from: deep as far as that is out of date, too, and
// known by their own status only.
type links struct{ deep, known []string }

func (l *links) all() []string { return slices.Concat(l.deep, l.known) }

func (l *links) add(id string, deep bool) {
	switch {
	case slices.Contains(l.all(), id):
	case deep:
		l.deep = append(l.deep, id)
	default:
		l.known = append(l.known, id)
	}
}

// links returns the links of all artifacts, from one publication to the next.
func (o oracle) links(records []handoff.Record) map[string]*links {
	all := map[string]*links{}
	for _, id := range o.order {
		then := newOracle(records[:1+slices.IndexFunc(records, func(r handoff.Record) bool { return r.ID == id })])
		own := &links{}
		all[id] = own
		var above []string
		for _, p := range o.published[id].Parents {
			if p != id && slices.Contains(then.order, p) && !slices.Contains(above, p) {
				above = append(above, p)
			}
		}
		parents := slices.Clone(above)
		// Only a revision, and what has a parent that is out of date or answered, is compared
		// with more than its parents.
		long := slices.ContainsFunc(then.order, func(p string) bool { return p != id && then.sameLine(p, id) }) ||
			slices.ContainsFunc(parents, func(p string) bool {
				return then.status(p) != handoff.Active || len(then.stale(all, p)) > 0 ||
					slices.ContainsFunc(parents, func(q string) bool {
						return then.sameLine(p, q) && slices.Index(o.order, q) > slices.Index(o.order, p)
					})
			})
		for i := 0; long && i < len(above); i++ {
			for _, q := range all[above[i]].all() {
				if !slices.Contains(above, q) && q != id {
					above = append(above, q)
				}
			}
		}
		answered := func(p string) bool {
			return then.sameLine(p, id) || slices.ContainsFunc(above, func(q string) bool {
				return then.sameLine(p, q) && slices.Index(o.order, q) > slices.Index(o.order, p)
			})
		}
		for _, c := range above {
			for _, x := range all[c].all() {
				if slices.Contains(above, x) && then.sameLine(x, id) {
					all[c].replace(c, x, all[x])
				}
			}
		}
		var tangled func(p string) bool
		tangled = func(p string) bool {
			return slices.ContainsFunc(all[p].all(), func(q string) bool {
				return slices.Contains(above, q) && (answered(q) || tangled(q))
			})
		}
		visited := map[string]bool{}
		var add func(p string, deep bool)
		add = func(p string, deep bool) {
			through := answered(p)
			if p == id || slices.Contains(own.all(), p) {
				return
			}
			if !through {
				through = deep && tangled(p)
				own.add(p, deep && !through)
			}
			if !through || visited[p] {
				return
			}
			visited[p] = true
			for _, q := range all[p].deep {
				add(q, deep)
			}
			for _, q := range all[p].known {
				add(q, false)
			}
		}
		for _, p := range parents {
			add(p, true)
		}
	}
	return all
}

// replace puts what x was made from in the place of x.
func (l *links) replace(c, x string, of *links) {
	is := func(id string) bool { return id == x }
	deep := slices.Contains(l.deep, x)
	l.deep, l.known = slices.DeleteFunc(slices.Clone(l.deep), is), slices.DeleteFunc(slices.Clone(l.known), is)
	for _, q := range of.deep {
		if q != c {
			l.add(q, deep)
		}
	}
	for _, q := range of.known {
		if q != c {
			l.add(q, false)
		}
	}
}

// stale returns the nearest inputs that are not active.
func (o oracle) stale(all map[string]*links, a string) (list []string) {
	for _, p := range all[a].deep {
		if o.status(p) != handoff.Active {
			list = append(list, p)
		} else {
			list = append(list, o.stale(all, p)...)
		}
	}
	for _, p := range all[a].known {
		if o.status(p) != handoff.Active {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestStaleInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m, o := memoryOf(t, records), newOracle(records)
		all := o.links(records)
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
					if o.status(head.ID) != handoff.Active ||
						!o.sameLine(head.ID, in.ID) && !slices.Contains(o.group(in.ID), head.ID) {
						t.Errorf("%s: %s is not an active revision of the stale input %s", id, head.ID, in.ID)
					}
				}
			}
			slices.Sort(got)
			if want := o.stale(all, id); !slices.Equal(got, want) {
				t.Errorf("stale inputs of %s = %v, want %v", id, got, want)
			}
		}
		page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true, IncludeInactive: true})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(o.order), func(id string) bool { return len(o.stale(all, id)) == 0 })
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
		{"from an old patch and the newest design", []handoff.ArtifactPublished{{Parents: []string{"a0"}},
			{Parents: []string{"a2", "a3"}}}, nil},
		{"from a replaced patch and the newest design", []handoff.ArtifactPublished{{Parents: []string{"a0"}},
			{Parents: []string{"a2", "a3"}}, {Replaces: []string{"a3"}}, {Parents: []string{"a4"}}}, []string{"a3"}},
		{"from something unknown", []handoff.ArtifactPublished{{Parents: []string{"nobody", "a9", "a3"}}}, nil},
	} {
		records := slices.Clone(designs)
		for i, p := range tt.more {
			records = append(records, published(i+3, p))
		}
		m := logtest.NewReference()
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

// TestRetry publishes the stages of a run in which a test fails, is diagnosed, and passes
// after the change was made again: nothing is out of date after any of them. Then the
// plan is replaced, which puts out of date what was made from it.
func TestRetry(t *testing.T) {
	name := func(i int, name string, parents ...string) handoff.Record {
		r := published(i, handoff.ArtifactPublished{Namespace: "42", Name: name, Parents: parents})
		return r
	}
	records := []handoff.Record{name(0, "plan"), name(1, "implement", "a0"), name(2, "test", "a1"),
		name(3, "debug", "a2", "a0"), name(4, "implement", "a3", "a0"), name(5, "test", "a4"),
		name(6, "review", "a4", "a5", "a0"), name(7, "debug", "a6", "a5"), name(8, "implement", "a7", "a0"), name(9, "test",
			"a8"),
		name(10, "review", "a8", "a9", "a0"), name(11, "plan")}
	m := logtest.NewReference()
	for i, r := range logtest.Placed(records) {
		if err := m.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true})
		if want := 0; i < 11 && (err != nil || len(page.Artifacts) != want) {
			t.Errorf("after %d: %d artifacts are out of date, %v", i, len(page.Artifacts), err)
		}
	}
	page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true})
	if err != nil || len(page.Artifacts) != 4 {
		t.Errorf("after another plan: %d artifacts are out of date, %v, want 4", len(page.Artifacts), err)
	}
}

// TestStaleTwoWays withdraws an artifact, which makes what was made from it stale
// and what was made from its predecessor current again. a4 is both, and reached by
// the shorter way first.
func TestStaleTwoWays(t *testing.T) {
	m := logtest.NewReference()
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
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{Stale: true})
	if err != nil || len(page.Artifacts) != 1999 {
		t.Errorf("%d artifacts are stale, %v, want 1999", len(page.Artifacts), err)
	}
}
