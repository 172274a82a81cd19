package cost

import (
	"cmp"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/trace"
)

// Rollup arranges work as trees and adds the usage of children to their parents,
// level by level, once each. Work whose parent is unknown is a root. The result
// does not depend on the order of work. own returns the usage of a unit without
// that of its children.
func Rollup(work []handoff.Work, own func(handoff.Work) trace.Usage) []*trace.Node {
	work = slices.Clone(work)
	order.Sort(work, func(a, b handoff.Work) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Harness, b.Harness), cmp.Compare(a.ID, b.ID))
	})
	nodes := map[workID]*trace.Node{}
	work = slices.DeleteFunc(work, func(w handoff.Work) bool {
		id := workID{w.Harness, w.ID}
		repeated := nodes[id] != nil
		if !repeated {
			nodes[id] = &trace.Node{Work: w, Own: own(w)}
		}
		return repeated
	})
	var roots []*trace.Node
	trees := trees{}
	for _, w := range work {
		id, above := workID{w.Harness, w.ID}, workID{w.Harness, w.Parent}
		n, parent := nodes[id], nodes[above]
		if parent != nil && w.Parent != "" && trees.join(id, above) {
			parent.Children = append(parent.Children, n)
		} else { // also where forged records make a cycle
			roots = append(roots, n)
		}
	}
	for _, n := range roots {
		addUp(n)
	}
	return roots
}

func addUp(n *trace.Node) {
	Add(&n.Total, n.Own)
	for _, c := range n.Children {
		addUp(c)
		Add(&n.Total, c.Total)
	}
}

type workID struct{ harness, id string }

// trees are disjoint sets of nodes: each node leads to a member of its set, and
// one of a set to none.
type trees map[workID]workID

// join joins the sets of two nodes. It returns false if they are in the same one.
func (t trees) join(a, b workID) bool {
	a, b = t.find(a), t.find(b)
	if a == b {
		return false
	}
	t[a] = b
	return true
}

func (t trees) find(id workID) workID {
	for {
		next, ok := t[id]
		if !ok {
			return id
		}
		if after, ok := t[next]; ok {
			t[id] = after // halves the way
		}
		id = next
	}
}
