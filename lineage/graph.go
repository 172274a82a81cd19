// Package lineage returns what an artifact or session was made from, what was
// made from it, and its revisions.
package lineage

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A Graph is a set of artifacts or sessions and the links between them.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`

	// Cycles are the sets of nodes that build on each other. Artifacts have
	// none, because a record only names earlier ones.
	Cycles [][]string `json:"cycles,omitempty"`
}

// A Node is an artifact or session. Its label is one line.
type Node struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Status string `json:"status,omitempty"`
}

// An Edge means that From builds on To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // from: made from it, or builds on it; replaces: replaces it
}

// current reports whether a node has the normal status: active for an artifact,
// completed for a session.
func current(n Node) bool { return n.Status == string(handoff.Active) || n.Status == "completed" }

// DOT returns the graph in the language of Graphviz. Arrows point from the older
// node to the newer one.
func (g Graph) DOT() string {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable.Line(s)) + `"`
	}
	var b strings.Builder
	b.WriteString("digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n")
	for _, n := range g.Nodes {
		style := ""
		if !current(n) {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", quote(n.ID), quote(n.Label), style)
	}
	for _, e := range g.Edges {
		style := ""
		if e.Kind == "replaces" {
			style = ` [style=dashed, label="replaced by"]`
		}
		fmt.Fprintf(&b, "  %s -> %s%s;\n", quote(e.To), quote(e.From), style)
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid returns the graph as a Mermaid flowchart, with arrows as in DOT.
func (g Graph) Mermaid() string {
	quote := strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;")
	name := map[string]string{}
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, n := range g.Nodes {
		name[n.ID] = fmt.Sprintf("n%d", i)
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, quote.Replace(printable.Line(n.Label)))
	}
	for _, e := range g.Edges {
		arrow := "-->"
		if e.Kind == "replaces" {
			arrow = "-. replaced by .->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", name[e.To], arrow, name[e.From])
	}
	return b.String()
}

// Tree returns the graph as indented text: the root with what it builds on, and
// then what builds on it. The branches of a node are printed once; "…" stands for
// them elsewhere.
func (g Graph) Tree(root string) string {
	nodes, below, above := map[string]Node{}, map[string][]branch{}, map[string][]branch{}
	for _, n := range g.Nodes {
		nodes[n.ID] = n
	}
	for _, e := range g.Edges {
		word := "replaced by "
		if e.Kind == "from" {
			word = "into "
		}
		below[e.From] = append(below[e.From], branch{e.To, e.Kind + " "})
		above[e.To] = append(above[e.To], branch{e.From, word})
	}
	down := tree{nodes: nodes, next: below, opened: map[string]bool{}}
	down.write("", "", 0, branch{id: root})
	down.continued()
	up := tree{nodes: nodes, next: above, opened: map[string]bool{}}
	up.open(root, "", 0)
	up.continued()
	text := down.b.String()
	if up.b.Len() > 0 {
		text += "led to\n" + up.b.String()
	}
	return text
}

// A branch is a link to a node, with a word for its kind.
type branch struct{ id, word string }

// maxIndent is the number of levels after which a tree continues at the margin, so
// that the text is not quadratic in the length of a chain.
const maxIndent = 40

// A tree writes a graph in one direction.
type tree struct {
	nodes  map[string]Node
	next   map[string][]branch
	b      strings.Builder
	opened map[string]bool
	deep   []string // nodes whose branches are too deep to be printed below them
}

// write writes a node after lead, and its branches after indent.
func (t *tree) write(lead, indent string, level int, to branch) {
	n := t.nodes[to.id]
	fmt.Fprintf(&t.b, "%s%s%s  %s", lead, printable.Line(to.word), printable.Line(n.ID), printable.Line(n.Label))
	if !current(n) {
		fmt.Fprintf(&t.b, "  (%s)", printable.Line(n.Status))
	}
	deep := level == maxIndent && len(t.next[n.ID]) > 0
	if t.opened[n.ID] || deep {
		t.b.WriteString("  …\n")
		t.deep = append(t.deep, n.ID)
		return
	}
	t.b.WriteString("\n")
	t.open(n.ID, indent, level)
}

func (t *tree) open(id, indent string, level int) {
	t.opened[id] = true
	list := t.next[id]
	for i, to := range list {
		if i < len(list)-1 {
			t.write(indent+"├─ ", indent+"│  ", level+1, to)
		} else {
			t.write(indent+"└─ ", indent+"   ", level+1, to)
		}
	}
}

// continued writes the branches that were too deep.
func (t *tree) continued() {
	for ; len(t.deep) > 0; t.deep = t.deep[1:] {
		if id := t.deep[0]; !t.opened[id] {
			t.write("", "", 0, branch{id: id})
		}
	}
}
