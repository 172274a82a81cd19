package lineage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/lineage"
)

// artifacts returns an index of artifacts and their IDs by name. Each line is a
// name with what it was made from, or with "!" what it replaces.
func artifacts(t *testing.T, lines ...string) (*logtest.Reference, map[string]string) {
	t.Helper()
	m, ids := logtest.NewReference(), map[string]string{}
	for i, line := range lines {
		words := strings.Fields(line)
		p := &handoff.ArtifactPublished{Channel: "design", Path: words[0], Title: words[0]}
		for _, to := range words[1:] {
			if replaced, ok := strings.CutPrefix(to, "!"); ok {
				p.Replaces = append(p.Replaces, ids[replaced])
			} else {
				p.Parents = append(p.Parents, ids[to])
			}
		}
		id := fmt.Sprintf("art_%026d", i+1)
		ids[words[0]] = id
		if err := m.Apply(t.Context(), handoff.Record{Seq: handoff.Seq(i + 1), Version: handoff.Version,
			Type: "artifact.published", ID: id, Fact: p}); err != nil {
			t.Fatal(err)
		}
	}
	return m, ids
}

// text returns the nodes and links of a surrounding, sorted, by title.
func text(s lineage.Surrounding) string {
	name := map[string]string{}
	var nodes, edges []string
	for _, n := range s.Nodes {
		name[n.ID] = strings.TrimPrefix(n.Label, "design: ")
		if n.Folded > 0 {
			name[n.ID] = fmt.Sprintf("%d-siblings", n.Folded)
		}
		nodes = append(nodes, fmt.Sprintf("%s@%d", name[n.ID], n.Distance))
	}
	for _, e := range s.Edges {
		edges = append(edges, name[e.From]+map[string]string{"from": ">", "replaces": "!"}[e.Kind]+name[e.To])
	}
	slices.Sort(nodes)
	slices.Sort(edges)
	return strings.Join(append(nodes, edges...), " ")
}

func TestNear(t *testing.T) {
	lines := []string{"spec", "plan spec", "patch plan", "patch2 plan !patch", "test patch2", "verdict test"}
	for i := range 6 {
		lines = append(lines, fmt.Sprintf("note%d plan", i), fmt.Sprintf("sub%d note%d", i, i))
	}
	m, ids := artifacts(t, lines...)
	near := func(o lineage.NearOptions, names ...string) lineage.Surrounding {
		t.Helper()
		var of []string
		for _, name := range names {
			of = append(of, ids[name])
		}
		if o.Limit == 0 {
			o.Limit = 100
		}
		s, err := lineage.Near(t.Context(), m, of, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		of   string
		hops int
		want string
	}{
		{"verdict", 0, "verdict@0"},
		{"verdict", 1, "test@1 verdict@0 verdict>test"},
		{"patch2", 1, "patch2@0 patch@1 plan@1 test@1 patch2!patch patch2>plan patch>plan test>patch2"},
		{"spec", 2, "8-siblings@2 plan@1 spec@0 8-siblings>plan plan>spec"}, // the notes and the patches
	} {
		if got := text(near(lineage.NearOptions{Hops: c.hops}, c.of)); got != c.want {
			t.Errorf("%d from %s: got %s, want %s", c.hops, c.of, got, c.want)
		}
	}
	folded := near(lineage.NearOptions{Hops: 2}, "spec")
	fold := folded.Nodes[len(folded.Nodes)-1].ID
	if got := text(near(lineage.NearOptions{Hops: 2, Unfold: []string{fold}}, "spec")); strings.Contains(got,
		"siblings") || !strings.Contains(got, "note5@2") {
		t.Errorf("unfolded: got %s", got)
	}
	if s := near(lineage.NearOptions{Hops: 9, Limit: 3}, "verdict"); len(s.Nodes) != 3 || !s.More {
		t.Errorf("with a limit: got %d nodes, more: %t", len(s.Nodes), s.More)
	}
	s, err := lineage.Near(t.Context(), m, []string{"art_missing"}, lineage.NearOptions{Hops: 2, Limit: 9})
	if err != nil || len(s.Nodes) != 1 || s.Nodes[0].Status != "unresolved" {
		t.Errorf("an unknown ID: got %+v, %v", s, err)
	}
}

// Siblings are not followed, so the work depends on what is shown.
func TestNearReadsWhatIsShown(t *testing.T) {
	lines := []string{"plan"}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("note%d plan", i))
		for j := range 20 {
			lines = append(lines, fmt.Sprintf("sub%d-%d note%d", i, j, i))
		}
	}
	m, ids := artifacts(t, lines...)
	r := &countingReader{Reader: m}
	s, err := lineage.Near(t.Context(), r, []string{ids["plan"]}, lineage.NearOptions{Hops: 9, Limit: 2000})
	if err != nil || len(s.Nodes) != 2 || s.Nodes[1].Folded != 50 {
		t.Fatalf("got %s, %v, want the plan and 50 siblings", text(s), err)
	}
	if r.views > 60 {
		t.Errorf("%d artifacts were read to show 51", r.views)
	}
}

// TestNearSiblings shows siblings that share one of their inputs with others: both
// groups are nodes, and one can be unfolded alone.
func TestNearSiblings(t *testing.T) {
	lines := []string{"design", "spec"}
	for i := range 5 {
		lines = append(lines, fmt.Sprintf("one%d design", i), fmt.Sprintf("both%d design spec", i))
	}
	m, ids := artifacts(t, lines...)
	near := func(unfold ...string) lineage.Surrounding {
		s, err := lineage.Near(t.Context(), m, []string{ids["design"], ids["spec"]},
			lineage.NearOptions{Hops: 1, Limit: 99, Unfold: unfold})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := near()
	if len(s.Nodes) != 4 || s.Nodes[2].ID == s.Nodes[3].ID || len(s.Edges) != 3 {
		t.Errorf("got the nodes %+v and edges %v, want two groups with three links", s.Nodes, s.Edges)
	}
	if s := near(s.Nodes[2].ID); len(s.Nodes) != 2+5+1 {
		t.Errorf("one group unfolded: %d nodes, want 8", len(s.Nodes))
	}
}

// A pagedReader has more artifacts than it returns.
type pagedReader struct{ handoff.Reader }

func (r pagedReader) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	page, err := r.Reader.Artifacts(ctx, q)
	if q.AnyParent != nil {
		page.Cursor = "more"
	}
	return page, err
}

// TestNearMore checks that a surrounding says that not all children were read.
func TestNearMore(t *testing.T) {
	m, ids := artifacts(t, "design", "patch design")
	s, err := lineage.Near(t.Context(), pagedReader{m}, []string{ids["design"]}, lineage.NearOptions{Hops: 1, Limit: 9})
	if err != nil || len(s.Nodes) != 2 || !s.More {
		t.Errorf("got %s, more %v, %v", text(s), s.More, err)
	}
}
