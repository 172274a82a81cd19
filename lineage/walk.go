package lineage

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
)

// Of returns what an artifact was made from, directly and indirectly, and what
// was made from it. IDs that are not in the log are nodes with the status
// "unresolved". Error kind: NotFound.
func Of(ctx context.Context, reader handoff.Reader, id string) (Graph, error) {
	w := newWalk(ctx, reader)
	if _, err := w.node(id); err != nil {
		return Graph{}, err
	}
	if err := w.ancestors(id); err != nil {
		return Graph{}, err
	}
	if err := w.descendants(id); err != nil {
		return Graph{}, err
	}
	return w.graph, nil
}

type walk struct {
	ctx    context.Context
	reader handoff.Reader
	graph  Graph
	nodes  map[string]bool
	edges  map[Edge]bool
	above  map[string][]handoff.Artifact // the replacements of an artifact, for the families that were loaded
}

func newWalk(ctx context.Context, reader handoff.Reader) walk {
	return walk{ctx: ctx, reader: reader, graph: Graph{Nodes: []Node{}, Edges: []Edge{}}, nodes: map[string]bool{},
		edges: map[Edge]bool{}, above: map[string][]handoff.Artifact{}}
}

// node adds an artifact to the graph, unless it has it. It lists instead of
// showing one artifact, because showing reads the content.
func (w *walk) node(id string) (handoff.Artifact, error) {
	page, err := w.reader.Artifacts(w.ctx, handoff.ArtifactQuery{IDPrefix: id, IncludeInactive: true, Limit: 1})
	if err != nil {
		return handoff.Artifact{}, err
	}
	if len(page.Artifacts) == 0 || page.Artifacts[0].ID != id {
		return handoff.Artifact{}, handoff.E("find artifact", id, handoff.NotFound, nil,
			handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	w.add(page.Artifacts[0])
	return page.Artifacts[0], nil
}

func (w *walk) add(a handoff.Artifact) { w.addNode(Node{a.ID, a.Label(), string(a.Status)}) }

func (w *walk) addNode(n Node) {
	if !w.nodes[n.ID] {
		w.nodes[n.ID] = true
		w.graph.Nodes = append(w.graph.Nodes, n)
	}
}

func (w *walk) edge(e Edge) {
	if !w.edges[e] {
		w.edges[e] = true
		w.graph.Edges = append(w.graph.Edges, e)
	}
}

func (w *walk) ancestors(id string) error {
	done := map[string]bool{}
	for todo := []string{id}; len(todo) > 0; todo = todo[1:] {
		if done[todo[0]] {
			continue
		}
		done[todo[0]] = true
		a, err := w.node(todo[0])
		if errors.Is(err, handoff.NotFound) {
			w.addNode(Node{todo[0], todo[0], "unresolved"})
			continue
		}
		if err != nil {
			return err
		}
		for _, to := range a.Parents {
			w.edge(Edge{a.ID, to, "from"})
			todo = append(todo, to)
		}
		for _, to := range a.Replaces {
			w.edge(Edge{a.ID, to, "replaces"})
			todo = append(todo, to)
		}
	}
	return nil
}

func (w *walk) descendants(id string) error {
	done := map[string]bool{}
	for todo := []string{id}; len(todo) > 0; todo = todo[1:] {
		to := todo[0]
		if done[to] {
			continue
		}
		done[to] = true
		made, err := w.reader.Artifacts(w.ctx, handoff.ArtifactQuery{Parent: to, IncludeInactive: true})
		if err != nil {
			return err
		}
		for _, a := range made.Artifacts {
			w.add(a)
			w.edge(Edge{a.ID, to, "from"})
			todo = append(todo, a.ID)
		}
		above, err := w.replacing(to)
		if err != nil {
			return err
		}
		for _, a := range above {
			w.add(a)
			w.edge(Edge{a.ID, to, "replaces"})
			todo = append(todo, a.ID)
		}
	}
	return nil
}

// replacing returns the replacements of an artifact. A family is loaded once.
func (w *walk) replacing(id string) ([]handoff.Artifact, error) {
	if list, ok := w.above[id]; ok {
		return list, nil
	}
	family, err := w.reader.Artifacts(w.ctx, handoff.ArtifactQuery{Family: id, IncludeInactive: true})
	if err != nil {
		return nil, err
	}
	for _, a := range family.Artifacts {
		w.above[a.ID] = nil
	}
	for _, a := range family.Artifacts {
		for _, below := range a.Replaces {
			if _, member := w.above[below]; member {
				w.above[below] = append(w.above[below], a)
			}
		}
	}
	return w.above[id], nil
}
