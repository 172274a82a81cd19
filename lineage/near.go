package lineage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// A Surrounding is a part of the graph of artifacts: some of them, and what is a
// number of links away from them.
type Surrounding struct {
	ID      string     // what it is of; "" for the workspace
	Session bool       // ID is that of a session or run
	Nodes   []Neighbor // nearest first
	Edges   []Edge
	More    bool // there are more nodes than the limit
}

// A Neighbor is an artifact, or several siblings: artifacts of one channel with the
// same links to those that are nearer.
type Neighbor struct {
	ID       string // of siblings, one that no artifact has
	Label    string // one line
	Status   string // "unresolved" if the log does not contain the artifact
	Channel  string
	Agent    string
	Session  string
	Revision int
	Labels   []string
	Notices  []handoff.Notice // that follow from the log; of siblings, those of any, and SeverityOK only if all have it
	Distance int              // links to the nearest one that was asked for
	Folded   int              // the number of siblings, 0 for one artifact
}

// NearOptions limit a Surrounding.
type NearOptions struct {
	Hops   int      // links to the farthest artifact
	Limit  int      // of nodes
	Unfold []string // IDs of siblings that become nodes of their own
}

const (
	foldFrom    = 5    // siblings that become one node
	maxSiblings = 5000 // artifacts made from those of one distance, of which more are not read
	foldPrefix  = "siblings:"
)

// Near returns the surrounding of some artifacts. Siblings are not followed further
// than to their node, so the work depends on what is shown. An ID that is not in
// the log is a node with the status "unresolved".
func Near(ctx context.Context, reader handoff.Reader, ids []string, o NearOptions) (Surrounding, error) {
	n := near{walk: newWalk(ctx, reader), o: o, views: map[string]handoff.Artifact{}, shown: map[string]bool{}}
	level, err := n.start(ids)
	if err != nil {
		return Surrounding{}, err
	}
	for distance := 1; distance <= o.Hops && len(level) > 0; distance++ {
		next, err := n.step(level, distance)
		if err != nil {
			return Surrounding{}, err
		}
		level = next
	}
	n.connect()
	return n.out, nil
}

type near struct {
	walk
	o     NearOptions
	out   Surrounding
	views map[string]handoff.Artifact // the artifacts that were read
	shown map[string]bool             // the IDs of nodes
}

// load reads artifacts that were not read.
func (n *near) load(list []*candidate) error {
	ids := []string{}
	for _, c := range list {
		if _, ok := n.views[c.id]; !ok {
			ids = append(ids, c.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	page, err := n.reader.Artifacts(n.ctx, handoff.ArtifactQuery{IDs: ids, IncludeInactive: true})
	for _, a := range page.Artifacts {
		n.views[a.ID] = a
	}
	return err
}

// full reports whether the limit is reached.
func (n *near) full() bool {
	if len(n.out.Nodes) < n.o.Limit {
		return false
	}
	n.out.More = true
	return true
}

// show adds an artifact that was read, or an unresolved one.
func (n *near) show(id string, distance int) {
	node := Neighbor{ID: id, Label: id, Status: "unresolved", Distance: distance}
	if a, ok := n.views[id]; ok {
		node = Neighbor{ID: id, Label: a.Label(), Status: string(a.Status), Channel: a.Channel, Agent: a.Producer.Agent,
			Session:  a.Producer.Session,
			Revision: a.Revision, Labels: a.Labels, Notices: a.Notices(), Distance: distance}
	}
	n.shown[id] = true
	n.out.Nodes = append(n.out.Nodes, node)
}

// A candidate is an artifact that is linked to one that is shown.
type candidate struct {
	id    string
	edges []Edge
}

// step shows what is linked to the artifacts of one distance, and returns those
// whose links are followed next.
func (n *near) step(level []handoff.Artifact, distance int) ([]handoff.Artifact, error) {
	made, err := n.made(level)
	if err != nil {
		return nil, err
	}
	found := map[string]*candidate{}
	var order []*candidate
	for _, a := range level {
		edges, err := n.links(a, made[a.ID])
		if err != nil {
			return nil, err
		}
		for _, e := range edges {
			id := e.From
			if id == a.ID {
				id = e.To
			}
			if n.shown[id] {
				continue // connect adds the link
			}
			if found[id] == nil {
				found[id] = &candidate{id: id}
				order = append(order, found[id])
			}
			found[id].edges = append(found[id].edges, e)
		}
	}
	return n.showAll(order, distance)
}

// start shows the artifacts that were asked for. Those with the same inputs are
// siblings.
func (n *near) start(ids []string) ([]handoff.Artifact, error) {
	var list []*candidate
	for _, id := range ids {
		list = append(list, &candidate{id: id})
	}
	if err := n.load(list); err != nil {
		return nil, err
	}
	for _, c := range list {
		id, a := c.id, n.views[c.id]
		for _, to := range a.Parents {
			c.edges = append(c.edges, Edge{id, to, "from"})
		}
		for _, to := range a.Replaces {
			c.edges = append(c.edges, Edge{id, to, "replaces"})
		}
	}
	return n.showAll(list, 0)
}

// showAll shows candidates, and returns the artifacts whose links are followed next.
func (n *near) showAll(list []*candidate, distance int) (next []handoff.Artifact, err error) {
	if err := n.load(list); err != nil {
		return nil, err
	}
	for _, group := range n.groups(list) {
		if n.full() {
			break
		}
		if len(group) >= foldFrom && len(group[0].edges) > 0 && !slices.Contains(n.o.Unfold, n.foldID(group[0])) {
			n.fold(n.foldID(group[0]), group, distance)
			continue
		}
		for _, c := range group {
			if n.full() {
				break
			}
			n.show(c.id, distance)
			if a, ok := n.views[c.id]; ok {
				next = append(next, a)
			}
			for _, e := range c.edges {
				n.edge(e)
			}
		}
	}
	return next, nil
}

// made reads what was made from the artifacts of one distance, by their IDs.
func (n *near) made(level []handoff.Artifact) (map[string][]handoff.Artifact, error) {
	var ids []string
	for _, a := range level {
		ids = append(ids, a.ID)
	}
	page, err := n.reader.Artifacts(n.ctx, handoff.ArtifactQuery{
		AnyParent: ids, IncludeInactive: true, Limit: maxSiblings})
	if err != nil {
		return nil, err
	}
	n.out.More = n.out.More || page.Cursor != ""
	made := map[string][]handoff.Artifact{}
	for _, later := range page.Artifacts {
		n.views[later.ID] = later
		for _, id := range later.Parents {
			made[id] = append(made[id], later)
		}
	}
	return made, nil
}

// links returns the links of an artifact in both directions.
func (n *near) links(a handoff.Artifact, made []handoff.Artifact) (edges []Edge, err error) {
	for _, to := range a.Parents {
		edges = append(edges, Edge{a.ID, to, "from"})
	}
	for _, to := range a.Replaces {
		edges = append(edges, Edge{a.ID, to, "replaces"})
	}
	for _, later := range made {
		edges = append(edges, Edge{later.ID, a.ID, "from"})
	}
	if a.Status != handoff.Active || len(a.Replaces) > 0 || len(a.Competing) > 0 {
		replacing, err := n.replacing(a.ID)
		if err != nil {
			return nil, err
		}
		for _, later := range replacing {
			n.views[later.ID] = later
			edges = append(edges, Edge{later.ID, a.ID, "replaces"})
		}
	}
	order.Sort(edges, compareEdges)
	return edges, nil
}

func compareEdges(a, b Edge) int {
	return strings.Compare(a.From+a.To+a.Kind, b.From+b.To+b.Kind)
}

// groups returns the candidates with the same links together, in the order of the
// first of each.
func (n *near) groups(list []*candidate) (groups [][]*candidate) {
	at := map[string]int{}
	for _, c := range list {
		key := c.key() + " " + n.views[c.id].Channel
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// key returns the links of a candidate without its own ID.
func (c *candidate) key() string {
	var parts []string
	for _, e := range c.edges {
		if e.From == c.id {
			parts = append(parts, e.Kind+">"+e.To)
		} else {
			parts = append(parts, e.Kind+"<"+e.From)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// foldID returns the ID of the node for a candidate and its siblings. It is in URLs.
func (n *near) foldID(c *candidate) string {
	return fmt.Sprintf("%s%s %.8x", foldPrefix, n.views[c.id].Channel, sha256.Sum256([]byte(c.key())))
}

// fold shows siblings as one node.
func (n *near) fold(id string, group []*candidate, distance int) {
	node := Neighbor{ID: id, Status: n.common(group), Channel: n.views[group[0].id].Channel, Distance: distance,
		Folded: len(group)}
	verified := 0
	isOK := func(n handoff.Notice) bool { return n.Severity == handoff.SeverityOK }
	for _, c := range group {
		list := n.views[c.id].Notices()
		if slices.ContainsFunc(list, isOK) {
			verified++
		}
		node.Notices = append(node.Notices, list...)
	}
	if verified < len(group) {
		node.Notices = slices.DeleteFunc(node.Notices, isOK)
	}
	order.Sort(node.Notices, handoff.CompareNotices)
	n.out.Nodes = append(n.out.Nodes, node)
	for _, e := range group[0].edges {
		if e.From == group[0].id {
			e.From = id
		} else {
			e.To = id
		}
		n.edge(e)
	}
	for _, c := range group {
		n.shown[c.id] = true
	}
}

// common returns the status of siblings, "" if they differ.
func (n *near) common(group []*candidate) string {
	status := string(n.views[group[0].id].Status)
	for _, c := range group {
		if string(n.views[c.id].Status) != status {
			return ""
		}
	}
	return status
}

// connect adds the links between the nodes, also between those that are equally far.
func (n *near) connect() {
	nodes := map[string]bool{}
	for _, node := range n.out.Nodes {
		nodes[node.ID] = true
	}
	for _, node := range n.out.Nodes {
		a := n.views[node.ID]
		for _, to := range a.Parents {
			n.edge(Edge{a.ID, to, "from"})
		}
		for _, to := range a.Replaces {
			n.edge(Edge{a.ID, to, "replaces"})
		}
	}
	for _, e := range n.graph.Edges {
		if nodes[e.From] && nodes[e.To] {
			n.out.Edges = append(n.out.Edges, e)
		}
	}
}
