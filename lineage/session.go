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
	w := newWalk(ctx, reader)
	for _, from := range reach(id, below) {
		w.addSession(known, from)
		for _, to := range below(from) {
			w.edge(Edge{from, to, "from"})
		}
	}
	for _, to := range reach(id, func(id string) []string { return above[id] }) {
		w.addSession(known, to)
		for _, from := range above[to] {
			w.edge(Edge{from, to, "from"})
		}
	}
	w.graph.Cycles = w.graph.cycles()
	return w.graph, nil
}

func (w *walk) addSession(known map[string]handoff.Session, id string) {
	n := Node{id, id, "unresolved"}
	if s, ok := known[id]; ok {
		n.Label, n.Status = s.Agent.Name+": "+s.Workflow.Name, s.Status
	}
	w.addNode(n)
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

// cycles returns the sets of nodes that can be reached from each other, by Tarjan's
// algorithm.
func (g Graph) cycles() (list [][]string) {
	below := map[string][]string{}
	for _, e := range g.Edges {
		below[e.From] = append(below[e.From], e.To)
	}
	visited, closed := map[string]int{}, map[string]bool{}
	var open []string
	var visit func(string) int
	visit = func(id string) int {
		number, first := len(visited)+1, len(open)
		visited[id], open = number, append(open, id)
		oldest := number // of the open nodes that can be reached from id
		for _, to := range below[id] {
			switch {
			case visited[to] == 0:
				oldest = min(oldest, visit(to))
			case !closed[to]:
				oldest = min(oldest, visited[to])
			}
		}
		if oldest < number {
			return oldest
		}
		members := slices.Clone(open[first:])
		open = open[:first]
		for _, m := range members {
			closed[m] = true
		}
		if len(members) > 1 || slices.Contains(below[id], id) {
			list = append(list, members)
		}
		return number
	}
	for _, n := range g.Nodes {
		if visited[n.ID] == 0 {
			visit(n.ID)
		}
	}
	return list
}
