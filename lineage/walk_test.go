package lineage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/lineage"
)

// A countingReader counts the artifacts that it returns.
type countingReader struct {
	handoff.Reader
	views int
}

func (r *countingReader) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	page, err := r.Reader.Artifacts(ctx, q)
	r.views += len(page.Artifacts)
	return page, err
}

// chain returns an index of n artifacts, each of which replaces the previous one.
func chain(t *testing.T, n int) handoff.Reader {
	var records []handoff.Record
	for i := range n {
		p := &handoff.ArtifactPublished{Channel: "design", Path: "a.md", Title: fmt.Sprint("revision ", i+1)}
		if i > 0 {
			p.Replaces = []string{records[i-1].ID}
		}
		id := fmt.Sprintf("art_%026d", i+1)
		records = append(records, handoff.Record{Seq: handoff.Seq(i + 1), Version: handoff.Version,
			Type: "artifact.published", ID: id, Fact: p})
	}
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLongFamily checks that the work for a lineage is linear in the number of
// its artifacts.
func TestLongFamily(t *testing.T) {
	const n = 200
	r := &countingReader{Reader: chain(t, n)}
	first := fmt.Sprintf("art_%026d", 1)
	g, err := lineage.Of(t.Context(), r, first)
	if err != nil || len(g.Nodes) != n || len(g.Edges) != n-1 {
		t.Fatalf("the lineage has %d nodes and %d edges, %v, want %d and %d", len(g.Nodes), len(g.Edges), err, n, n-1)
	}
	if r.views > 3*n {
		t.Errorf("%d artifacts were read for a lineage of %d", r.views, n)
	}
	tree := g.Tree(first)
	for _, node := range g.Nodes {
		if n := strings.Count(tree, node.ID); n < 1 || n > 2 {
			t.Errorf("%s is %d times in the tree", node.ID, n)
		}
	}
}

func TestPrintable(t *testing.T) {
	g := lineage.Graph{Nodes: []lineage.Node{{ID: "a", Label: "one\x1b[31m\ntwo\u202ethree", Status: "active"}}}
	for format, text := range map[string]string{"tree": g.Tree("a"), "dot": g.DOT(), "mermaid": g.Mermaid()} {
		if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "two") {
			t.Errorf("%s: %q contains control characters", format, text)
		}
	}
}
