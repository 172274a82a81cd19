package fold

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// An artifact is out of date if it is not active, or if one of its inputs is out of
// date. Its inputs are its parents, except those that its own chain replaced: an earlier
// revision of the artifact itself, or of anything that it was made from. The inputs of
// such a parent are its own instead.
//
//   - A parent that was made from a replaced revision, such as a patch of the first design
//     beside the second design, is an input by its own status only: it is in Known.
//   - When a revision is published, it answers what it was made from: the input that it
//     replaces is no longer one of those. After a retry, a failed test is not out of date
//     because of the change that the retry replaced.
//
// All of that is known when an artifact is published. Afterwards, StaleInputs follows
// every change of an input.

// maxInherited limits how many artifacts are looked at that one was made from: a long
// chain of revisions, each made from the one before, has no end.
const maxInherited = 100

// setInputs sets Inputs, Known and StaleInputs of an artifact that was just published, and
// takes what it replaces out of the inputs of what it was made from.
func setInputs(k *tracedKeeper, a *ArtifactState) error {
	l := lineage{k: k, a: a, nodes: map[string]*ArtifactState{}, newest: map[string]handoff.Seq{},
		tangled: map[string]bool{}}
	parents, err := l.load(a.Published.Parents)
	if err != nil {
		return err
	}
	for todo := parents; l.isLong(parents) && len(todo) > 0 && len(l.nodes) < maxInherited; todo = todo[1:] {
		more, err := l.load(slices.Concat(todo[0].Inputs, todo[0].Known))
		if err != nil {
			return err
		}
		todo = append(slices.Clip(todo), more...)
	}
	if err := l.answer(); err != nil {
		return err
	}
	for _, p := range parents {
		l.add(p, true)
	}
	return nil
}

// isLong reports whether more than the parents must be looked at: a revision answers what
// it was made from, and where a parent is out of date, a part of it may be answered.
func (l *lineage) isLong(parents []*ArtifactState) bool {
	return l.a.Predecessors > 0 || len(l.a.Replaced) > 0 || slices.ContainsFunc(parents, func(p *ArtifactState) bool {
		return l.answered(p) || conditionOf(p).outOfDate
	})
}

// A lineage is what an artifact was made from, directly or through others.
type lineage struct {
	k       *tracedKeeper
	a       *ArtifactState
	nodes   map[string]*ArtifactState
	order   []*ArtifactState       // the nodes, the nearest first
	newest  map[string]handoff.Seq // by line
	tangled map[string]bool        // the nodes that were made from an answered one, as far as it was asked
}

// load adds artifacts and returns those that are new.
func (l *lineage) load(ids []string) (list []*ArtifactState, err error) {
	for _, id := range ids {
		if l.nodes[id] != nil || id == l.a.ID {
			continue
		}
		p, err := l.k.Artifact(id)
		if err != nil {
			return nil, err
		}
		if !p.known() {
			continue
		}
		l.nodes[id] = p
		l.order = append(l.order, p)
		list = append(list, p)
		for _, line := range linesOf(p) {
			l.newest[line] = max(l.newest[line], p.Record.Seq)
		}
	}
	return list, nil
}

// linesOf returns the keys of the family and of the name that an artifact is a revision of.
func linesOf(a *ArtifactState) []string {
	lines := []string{"family " + a.Family}
	if a.Published.Name != "" {
		lines = append(lines, "name "+nameKey(a.Published))
	}
	return lines
}

// sameLine reports whether two artifacts are revisions of one family or name.
func sameLine(a, b *ArtifactState) bool {
	return a.Family == b.Family || sameName(a, b)
}

// answered reports whether the lineage has a later revision of a node.
func (l *lineage) answered(p *ArtifactState) bool {
	return sameLine(p, l.a) || slices.ContainsFunc(linesOf(p), func(line string) bool {
		return l.newest[line] > p.Record.Seq
	})
}

// isTangled reports whether a node was made from an answered one.
func (l *lineage) isTangled(p *ArtifactState) bool {
	known, done := l.tangled[p.ID]
	if !done {
		l.tangled[p.ID] = false
		known = slices.ContainsFunc(slices.Concat(p.Inputs, p.Known), func(id string) bool {
			q := l.nodes[id]
			return q != nil && (l.answered(q) || l.isTangled(q))
		})
		l.tangled[p.ID] = known
	}
	return known
}

// answer takes the earlier revisions of the new artifact out of the inputs of the nodes.
func (l *lineage) answer() error {
	for _, c := range l.order {
		changed := false
		for _, id := range slices.Concat(c.Inputs, c.Known) {
			x := l.nodes[id]
			if x == nil || !sameLine(x, l.a) {
				continue
			}
			deep := slices.Contains(c.Inputs, id)
			l.remove(c, x)
			for _, q := range x.Inputs {
				l.give(c, l.nodes[q], deep)
			}
			for _, q := range x.Known {
				l.give(c, l.nodes[q], false)
			}
			changed = true
		}
		if changed {
			if err := l.k.PutArtifact(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add makes a node an input of the new artifact, or what it was made from. With deep it
// is out of date if one of its inputs is.
func (l *lineage) add(p *ArtifactState, deep bool) {
	switch {
	case p == nil || l.has(l.a, p):
		return
	case l.answered(p):
	case deep && !l.isTangled(p):
		l.give(l.a, p, true)
		return
	default:
		l.give(l.a, p, false)
		if !deep {
			return
		}
	}
	key := p.ID + " visited"
	if l.tangled[key] {
		return
	}
	l.tangled[key] = true
	for _, id := range p.Inputs {
		l.add(l.nodes[id], deep)
	}
	for _, id := range p.Known {
		l.add(l.nodes[id], false)
	}
}

func (l *lineage) has(c, p *ArtifactState) bool {
	return slices.Contains(c.Inputs, p.ID) || slices.Contains(c.Known, p.ID)
}

// give makes p an input of c, unless it is one. What the fold changes in p is counted
// afterwards.
func (l *lineage) give(c, p *ArtifactState, deep bool) {
	if p == nil || p == c || l.has(c, p) {
		return
	}
	if deep {
		c.Inputs = append(slices.Clip(c.Inputs), p.ID)
	} else {
		c.Known = append(slices.Clip(c.Known), p.ID)
	}
	c.StaleInputs += l.k.was[p.ID].counts(deep)
}

func (l *lineage) remove(c, p *ArtifactState) {
	is := func(id string) bool { return id == p.ID }
	c.StaleInputs -= l.k.was[p.ID].counts(slices.Contains(c.Inputs, p.ID))
	c.Inputs, c.Known = slices.DeleteFunc(slices.Clone(c.Inputs), is), slices.DeleteFunc(slices.Clone(c.Known), is)
}

// A condition is what others count of an artifact.
type condition struct{ outOfDate, inactive bool }

func conditionOf(a *ArtifactState) condition {
	if !a.known() {
		return condition{}
	}
	inactive := a.Status() != handoff.Active
	return condition{inactive || a.StaleInputs > 0, inactive}
}

// counts returns what an input in this condition adds to StaleInputs.
func (c condition) counts(deep bool) int {
	if c.inactive || (deep && c.outOfDate) {
		return 1
	}
	return 0
}

// A tracedKeeper remembers the condition of artifacts when they were loaded.
type tracedKeeper struct {
	Keeper
	was   map[string]condition
	order []string // the keys of was
}

func (t *tracedKeeper) Artifact(id string) (*ArtifactState, error) {
	a, err := t.Keeper.Artifact(id)
	if _, loaded := t.was[id]; err == nil && !loaded {
		t.was[id] = conditionOf(a)
		t.order = append(t.order, id)
	}
	return a, err
}

// foldTraced runs a fold, and then updates StaleInputs of what was made from the
// artifacts that it changed.
func foldTraced(k Keeper, fold func(*tracedKeeper) error) error {
	t := &tracedKeeper{Keeper: k, was: map[string]condition{}}
	if err := fold(t); err != nil {
		return err
	}
	for i := 0; i < len(t.order); i++ {
		id := t.order[i]
		a, err := k.Artifact(id)
		if err != nil {
			return err
		}
		was, now := t.was[id], conditionOf(a)
		if now == was {
			continue
		}
		t.was[id] = now
		if err := t.updateChildren(id, was, now); err != nil {
			return err
		}
	}
	return nil
}

// updateChildren updates what was made from an artifact whose condition changed, and
// notes it for its own children.
func (t *tracedKeeper) updateChildren(id string, was, now condition) error {
	children, err := t.Children(id)
	if err != nil {
		return err
	}
	for _, child := range children {
		c, err := t.Artifact(child)
		if err != nil {
			return err
		}
		deep := slices.Contains(c.Inputs, id)
		change := now.counts(deep) - was.counts(deep)
		if change == 0 || (!deep && !slices.Contains(c.Known, id)) {
			continue
		}
		c.StaleInputs += change
		if err := t.PutArtifact(c); err != nil {
			return err
		}
		t.order = append(t.order, child)
	}
	return nil
}

// The numbers of artifacts that a view looks at, and that it lists.
const (
	maxTraced = 500
	maxStale  = 20
)

// staleInputs returns the nearest artifacts that a was made from, directly or
// through others, and that are not active.
func staleInputs(s Store, a *ArtifactState) ([]handoff.StaleInput, error) {
	if a.StaleInputs == 0 {
		return nil, nil
	}
	type input struct {
		id   string
		deep bool
	}
	var list []handoff.StaleInput
	var todo []input
	add := func(a *ArtifactState) {
		for _, id := range a.Inputs {
			todo = append(todo, input{id, true})
		}
		for _, id := range a.Known {
			todo = append(todo, input{id, false})
		}
	}
	add(a)
	seen, listed := map[input]bool{}, map[string]bool{}
	for ; len(todo) > 0 && len(seen) < maxTraced && len(list) < maxStale; todo = todo[1:] {
		at := todo[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		p, err := s.State(at.id)
		if err != nil {
			return nil, err
		}
		switch {
		case !p.known(): // an index that was altered
		case p.Status() != handoff.Active && !listed[p.ID]:
			in, err := staleInput(s, p.ID)
			if err != nil {
				return nil, err
			}
			list, listed[p.ID] = append(list, in), true
		case p.Status() == handoff.Active && at.deep && p.StaleInputs > 0:
			add(p)
		}
	}
	return list, nil
}

func staleInput(s Store, id string) (in handoff.StaleInput, err error) {
	p, err := s.Artifact(id)
	if err != nil {
		return in, err
	}
	in = handoff.StaleInput{ID: id, Channel: p.Published.Channel, Revision: p.Predecessors + 1, Status: p.Status()}
	in.Active, err = activeRevisions(s, p)
	return in, err
}

// activeRevisions returns what is active of the group and name of a.
func activeRevisions(s Store, a *ArtifactState) ([]handoff.ActiveRevision, error) {
	heads, err := s.Heads(a.Group())
	if err != nil {
		return nil, err
	}
	if a.Published.Name != "" {
		head, err := s.Pointer(nameSpace, nameKey(a.Published))
		if err != nil {
			return nil, err
		}
		if head != "" && !slices.Contains(heads, head) {
			heads = append(slices.Clip(heads), head)
		}
	}
	var list []handoff.ActiveRevision
	for _, id := range heads {
		b, err := s.State(id)
		if err != nil {
			return nil, err
		}
		if b.Status() == handoff.Active {
			list = append(list, handoff.ActiveRevision{ID: id, Revision: b.Predecessors + 1})
		}
	}
	return list, nil
}
