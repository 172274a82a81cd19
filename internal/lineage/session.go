package lineage

import (
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
)

// OfSession returns what a session builds on, directly and indirectly, and what
// builds on it. A session that is not in the log is a node with the status
// "unresolved"; cycles of links are in Cycles. Error kind: NotFound.
func OfSession(ctx context.Context, reader handoff.Reader, id string) (Graph, error) {
	if _, err := reader.Session(ctx, id); err != nil {
		return Graph{}, err
	}
	page, err := reader.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true})
	if err != nil {
		return Graph{}, err
	}
	known := map[string]handoff.Session{}
	above := map[string][]string{} // what links to a session, oldest first
	for _, s := range slices.Backward(page.Sessions) {
		known[s.ID] = s
		for _, to := range s.Links {
			above[to] = append(above[to], s.ID)
		}
	}
	below := func(id string) []string { return known[id].Links }
	g := Graph{Nodes: []Node{}, Edges: []Edge{}}
	for i, next := range []func(string) []string{below, func(id string) []string { return above[id] }} {
		for _, from := range reach(id, next) {
			g.addSession(known, from)
			for _, to := range next(from) {
				e := Edge{from, to, "from"}
				if i == 1 {
					e = Edge{to, from, "from"}
				}
				if !slices.Contains(g.Edges, e) {
					g.Edges = append(g.Edges, e)
				}
			}
		}
	}
	g.Cycles = cycles(g, below)
	return g, nil
}

func (g *Graph) addSession(known map[string]handoff.Session, id string) {
	if slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.ID == id }) {
		return
	}
	n := Node{id, id, "unresolved"}
	if s, ok := known[id]; ok {
		n.Label, n.Status = s.Agent.Name+": "+s.Workflow.Name, s.Status
	}
	g.Nodes = append(g.Nodes, n)
}

// reach returns id and everything that can be reached from it, nearest first.
func reach(id string, next func(string) []string) []string {
	list := []string{id}
	seen := map[string]bool{id: true}
	for i := 0; i < len(list); i++ {
		for _, to := range next(list[i]) {
			if !seen[to] {
				seen[to] = true
				list = append(list, to)
			}
		}
	}
	return list
}

// cycles returns the sets of nodes that can be reached from each other, in the
// order of the graph.
func cycles(g Graph, next func(string) []string) [][]string {
	var list [][]string
	reached := map[string][]string{}
	for _, n := range g.Nodes {
		for _, to := range next(n.ID) {
			reached[n.ID] = append(reached[n.ID], reach(to, next)...)
		}
	}
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		if seen[n.ID] || !slices.Contains(reached[n.ID], n.ID) {
			continue
		}
		var members []string
		for _, m := range g.Nodes {
			if slices.Contains(reached[n.ID], m.ID) && slices.Contains(reached[m.ID], n.ID) {
				members = append(members, m.ID)
				seen[m.ID] = true
			}
		}
		list = append(list, members)
	}
	return list
}
