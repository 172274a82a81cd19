// Package lineage answers where an artifact came from, what it led to, and how
// it was revised.
package lineage

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff"
)

// A Graph is a set of things and how they lead to each other.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`

	// Cycles are the sets of nodes that build on each other. Artifacts have
	// none, for a record names only earlier ones.
	Cycles [][]string `json:"cycles,omitempty"`
}

// A Node is one thing of a graph. Its label is one line.
type Node struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Status string `json:"status,omitempty"`
}

// An Edge says that From builds on To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // from: made from it; replaces: in its place
}

// stands reports whether nothing needs saying of a node: an artifact is active,
// a session completed.
func stands(n Node) bool { return n.Status == string(handoff.Active) || n.Status == "completed" }

// DOT returns the graph in the language of Graphviz. Arrows point from what
// was there first to what was made from it.
func (g Graph) DOT() string {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(s)) + `"`
	}
	var b strings.Builder
	b.WriteString("digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n")
	for _, n := range g.Nodes {
		style := ""
		if !stands(n) {
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
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, quote.Replace(printable(n.Label)))
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

// Tree returns the graph as indented text: the root, what it builds on below
// it, and then what builds on it. A node is opened once.
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

// A branch leads to a node, and says in a word how.
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

// A tree is a graph as it is written, in one direction.
type tree struct {
	g      Graph
	next   func(id string) []branch
	b      strings.Builder
	opened map[string]bool
}

// write writes a node behind its lead, and those it leads to behind the given
// indent.
func (t *tree) write(lead, indent string, to branch) {
	n := t.g.Nodes[slices.IndexFunc(t.g.Nodes, func(n Node) bool { return n.ID == to.id })]
	fmt.Fprintf(&t.b, "%s%s%s  %s", lead, to.word, n.ID, printable(n.Label))
	if !stands(n) {
		fmt.Fprintf(&t.b, "  (%s)", n.Status)
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

// printable keeps a label on its line, and drops what a terminal could take
// for a command, or for a change of direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}
