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
	t := tree{g: g, opened: map[string]bool{}}
	t.write("", "", root, "", true)
	up := len(t.b.String())
	t.opened = map[string]bool{}
	t.children(root, "", false)
	text := t.b.String()
	if len(text) > up {
		text = text[:up] + "led to\n" + text[up:]
	}
	return text
}

type tree struct {
	g      Graph
	b      strings.Builder
	opened map[string]bool
}

func (t *tree) write(lead, below, id, kind string, down bool) {
	i := slices.IndexFunc(t.g.Nodes, func(n Node) bool { return n.ID == id })
	n := t.g.Nodes[i]
	if kind != "" {
		kind += " "
	}
	fmt.Fprintf(&t.b, "%s%s%s  %s", lead, kind, n.ID, printable(n.Label))
	if !stands(n) {
		fmt.Fprintf(&t.b, "  (%s)", n.Status)
	}
	if t.opened[id] {
		t.b.WriteString("  …\n")
		return
	}
	t.b.WriteString("\n")
	t.children(id, below, down)
}

// children writes what id builds on, or, with down false, what builds on it.
func (t *tree) children(id, below string, down bool) {
	t.opened[id] = true
	type child struct{ id, kind string }
	var list []child
	for _, e := range t.g.Edges {
		switch {
		case down && e.From == id:
			list = append(list, child{e.To, e.Kind})
		case !down && e.To == id && e.Kind == "from":
			list = append(list, child{e.From, "into"})
		case !down && e.To == id:
			list = append(list, child{e.From, "replaced by"})
		}
	}
	for i, c := range list {
		branch, bar := "├─ ", "│  "
		if i == len(list)-1 {
			branch, bar = "└─ ", "   "
		}
		t.write(below+branch, below+bar, c.id, c.kind, down)
	}
}

// printable keeps a label on its line, and drops what a terminal could take
// for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
