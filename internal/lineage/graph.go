// Package lineage returns what an artifact or session was made from, what was
// made from it, and its revisions.
package lineage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/printable"
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
// then what builds on it. The branches of a node are printed once.
func (g Graph) Tree(root string) string {
	below := tree{g: g, next: g.below, opened: map[string]bool{}}
	below.write("", "", branch{id: root})
	above := tree{g: g, next: g.above, opened: map[string]bool{}}
	above.open(root, "")
	text := below.b.String()
	if above.b.Len() > 0 {
		text += "led to\n" + above.b.String()
	}
	return text
}

// A branch is a link to a node, with a word for its kind.
type branch struct{ id, word string }

// below returns what a node builds on.
func (g Graph) below(id string) (list []branch) {
	for _, e := range g.Edges {
		if e.From == id {
			list = append(list, branch{e.To, e.Kind + " "})
		}
	}
	return list
}

// above returns what builds on a node.
func (g Graph) above(id string) (list []branch) {
	for _, e := range g.Edges {
		switch {
		case e.To != id:
		case e.Kind == "from":
			list = append(list, branch{e.From, "into "})
		default:
			list = append(list, branch{e.From, "replaced by "})
		}
	}
	return list
}

// A tree writes a graph in one direction.
type tree struct {
	g      Graph
	next   func(id string) []branch
	b      strings.Builder
	opened map[string]bool
}

// write writes a node after lead, and its branches after indent.
func (t *tree) write(lead, indent string, to branch) {
	n := t.g.Nodes[slices.IndexFunc(t.g.Nodes, func(n Node) bool { return n.ID == to.id })]
	fmt.Fprintf(&t.b, "%s%s%s  %s", lead, printable.Line(to.word), printable.Line(n.ID), printable.Line(n.Label))
	if !current(n) {
		fmt.Fprintf(&t.b, "  (%s)", printable.Line(n.Status))
	}
	if t.opened[n.ID] {
		t.b.WriteString("  …\n")
		return
	}
	t.b.WriteString("\n")
	t.open(n.ID, indent)
}

func (t *tree) open(id, indent string) {
	t.opened[id] = true
	list := t.next(id)
	for i, to := range list {
		if i < len(list)-1 {
			t.write(indent+"├─ ", indent+"│  ", to)
		} else {
			t.write(indent+"└─ ", indent+"   ", to)
		}
	}
}
