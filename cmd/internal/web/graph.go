package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/lineage"
)

// The limits of a graph.
const (
	graphHops  = 2
	maxHops    = 100
	graphNodes = 2000
)

// graphPage is what the page of a graph shows: a list that is readable on its own,
// and the same nodes and links for the script that draws them.
type graphPage struct {
	Focus  string // as it was asked for, "" for the workspace
	Hops   int
	Fewer  string // URLs of the graph with fewer and with more hops, "" at an end
	Wider  string
	More   bool // there are more nodes than shown
	Nodes  []graphNode
	Edges  []graphEdge
	Starts []graphBranch

	Sessions  string // URL of the graph of sessions, of a graph of artifacts of a session
	Artifacts string // the reverse
}

// A graphNode is a node as it is drawn. Its texts are safe to print.
type graphNode struct {
	Label  string `json:"label"`
	Detail string `json:"detail"`
	Status string `json:"status"` // a class
	URL    string `json:"url"`
	Focus  bool   `json:"focus,omitempty"`
	Folded bool   `json:"folded,omitempty"`
}

// A graphEdge links nodes by their positions: To was made from From, or replaces it.
type graphEdge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Kind string `json:"kind"`
}

// A graphBranch is a node in the list, with those that are linked to it and
// farther away.
type graphBranch struct {
	graphNode
	Link     string // how it is linked to the node above
	Branches []graphBranch
}

// graph shows what surrounds an artifact, the artifacts of a session, or the newest
// ones.
func (s *Server) graph(r *http.Request) (page, error) {
	q := r.URL.Query()
	hops := graphHops
	if n, err := strconv.Atoi(q.Get("hops")); err == nil {
		hops = min(max(n, 0), maxHops)
	}
	focus := q.Get("focus")
	if q.Has("sessions") {
		return s.chain(r.Context(), focus)
	}
	found, err := s.o.Source.Artifacts.Surrounding(r.Context(), focus,
		lineage.NearOptions{Hops: hops, Limit: graphNodes, Unfold: q["unfold"]})
	if err != nil {
		return page{}, err
	}
	g := graphPage{Focus: focus, Hops: hops, More: found.More, Edges: []graphEdge{}}
	if hops > 0 {
		g.Fewer = with(q, "hops", strconv.Itoa(hops-1))
	}
	if hops < maxHops {
		g.Wider = with(q, "hops", strconv.Itoa(hops+1))
	}
	g.add(found, q)
	if found.Session {
		g.Sessions = chainURL(found.ID)
	}
	p := g.page()
	switch {
	case found.Session:
		p.Crumbs = sessionCrumbs(found.ID)
		p.Title = "Lineage of a session"
	case found.ID != "" && len(g.Nodes) > 0:
		p.Title = "Lineage of " + g.Nodes[0].Label
		p.Crumbs = []crumb{{g.Nodes[0].Label, artifactURL(found.ID)}}
	}
	return p, nil
}

func (g graphPage) page() page {
	return page{Name: "graph", Title: "Lineage", Section: "/graph", Live: true, Data: g,
		Scripts: []string{"vendor/dagre.min.js", "graph.js"}, Styles: []string{"graph.css"}}
}

func sessionCrumbs(id string) []crumb {
	return []crumb{{"Sessions", "/sessions"}, {shortID(id), sessionURL(id)}}
}

// chain shows the sessions that a session builds on, and those that build on it.
func (s *Server) chain(ctx context.Context, focus string) (page, error) {
	id, found, err := s.o.Source.Sessions.Graph(ctx, focus)
	if err != nil {
		return page{}, err
	}
	g := graphPage{Focus: focus, Edges: []graphEdge{}, Artifacts: graphURL(id), More: len(found.Nodes) > graphNodes}
	at := map[string]int{}
	for i, n := range found.Nodes[:min(len(found.Nodes), graphNodes)] {
		at[n.ID] = i
		node := graphNode{Label: printable.Line(n.Label), Detail: shortID(n.ID), Status: n.Status, Focus: n.ID == id}
		if node.Status != "unresolved" {
			node.URL = sessionURL(n.ID)
		}
		g.Nodes = append(g.Nodes, node)
	}
	for _, e := range found.Edges {
		from, shown := at[e.To]
		to, other := at[e.From]
		if shown && other {
			g.Edges = append(g.Edges, graphEdge{from, to, e.Kind})
		}
	}
	g.list(distances(at[id], len(g.Nodes), g.Edges), "built on it", "it builds on")
	p := g.page()
	p.Title, p.Crumbs = "Sessions that build on each other", sessionCrumbs(id)
	return p, nil
}

// distances returns how many links away from a start each of so many nodes is.
func distances(start, nodes int, edges []graphEdge) []int {
	far := make([]int, nodes)
	links := map[int][]int{}
	for _, e := range edges {
		links[e.From], links[e.To] = append(links[e.From], e.To), append(links[e.To], e.From)
	}
	seen := map[int]bool{start: true}
	for level, distance := []int{start}, 0; len(level) > 0; distance++ {
		var next []int
		for _, i := range level {
			far[i] = distance
			for _, j := range links[i] {
				if !seen[j] {
					seen[j] = true
					next = append(next, j)
				}
			}
		}
		level = next
	}
	return far
}

// with returns the URL of a graph with one more parameter, or another value of it.
func with(q url.Values, name, value string) string {
	changed := url.Values{}
	for k, v := range q {
		changed[k] = v
	}
	if name == "unfold" {
		changed[name] = append(slices.Clone(q[name]), value)
	} else {
		changed.Set(name, value)
	}
	return "/graph?" + changed.Encode()
}

func (g *graphPage) add(s lineage.Surrounding, q url.Values) {
	at := map[string]int{}
	for i, n := range s.Nodes {
		at[n.ID] = i
		node := graphNode{Label: printable.Line(n.Label), Detail: printable.Line(n.Agent), Status: n.Status,
			URL: with(url.Values{}, "focus", n.ID), Focus: n.Distance == 0 && s.ID != ""}
		switch {
		case n.Folded > 0:
			node.Label, node.Detail = fmt.Sprintf("%d artifacts", n.Folded), printable.Line(n.Channel)
			node.URL, node.Folded = with(q, "unfold", n.ID), true
		case n.Revision > 0:
			node.Detail = fmt.Sprintf("v%d  %s", n.Revision, node.Detail)
			for _, label := range n.Labels {
				node.Detail += " · " + printable.Line(label)
			}
		}
		codes := handoff.Codes(slices.DeleteFunc(slices.Clone(n.Notices), func(n handoff.Notice) bool {
			return n.Severity == handoff.SeverityInfo || string(n.Code) == node.Status
		}))
		for _, code := range codes {
			node.Detail += " · " + noticeName(code)
		}
		if len(codes) > 0 && (n.Status == string(handoff.Active) || n.Folded > 0) {
			node.Status = string(handoff.NewNotice(codes[0], "").Severity)
		}
		if n.Distance == 0 && n.Folded == 0 && n.Status != "unresolved" {
			node.URL = artifactURL(n.ID)
		}
		g.Nodes = append(g.Nodes, node)
	}
	for _, e := range s.Edges {
		g.Edges = append(g.Edges, graphEdge{at[e.To], at[e.From], e.Kind})
	}
	far := make([]int, len(s.Nodes))
	for i, n := range s.Nodes {
		far[i] = n.Distance
	}
	g.list(far, "made from it", "its input")
}

// list forms a tree: each node is under the nearest one that it is linked to. Far is how
// many links away each is; newer and older name the links.
func (g *graphPage) list(far []int, newer, older string) {
	links := map[int][]graphEdge{}
	for _, e := range g.Edges {
		links[e.From] = append(links[e.From], e)
		links[e.To] = append(links[e.To], e)
	}
	under := map[int][]graphBranch{} // children of the last nodes first
	for i, node := range slices.Backward(g.Nodes) {
		b := graphBranch{graphNode: node, Branches: under[i]}
		slices.Reverse(b.Branches)
		parent := -1
		for _, e := range links[i] {
			other, link := e.From, newer
			if e.From == i {
				other, link = e.To, older
			}
			if e.Kind == "replaces" {
				link = map[string]string{newer: "replaces it", older: "replaced by it"}[link]
			}
			if far[other] == far[i]-1 && (parent < 0 || other < parent) {
				parent, b.Link = other, link
			}
		}
		if parent < 0 {
			g.Starts = append(g.Starts, b)
			continue
		}
		under[parent] = append(under[parent], b)
	}
	slices.Reverse(g.Starts)
}
