package fold

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// An artifact is out of date if it is not active, or if one of its inputs is out
// of date. Its inputs are its parents, except those of which it took a later
// revision into account: that is itself, or another parent, and the inputs of
// such a parent are its own instead. All of that is known when it is published.
// Afterwards, StaleInputs follows every change of an input.

// maxInherited limits Inputs: a long chain of revisions, each made from the one
// before, has no end of inputs.
const maxInherited = 100

// setInputs sets Inputs and StaleInputs of an artifact that was just published.
func setInputs(k Keeper, a *ArtifactState) error {
	var parents []*ArtifactState
	for _, id := range a.Published.Parents {
		p, err := k.Artifact(id)
		if err != nil {
			return err
		}
		if p.known() && id != a.ID && !slices.Contains(parents, p) {
			parents = append(parents, p)
		}
	}
	answered := func(p *ArtifactState) bool {
		return sameLine(p, a) || slices.ContainsFunc(parents, func(q *ArtifactState) bool {
			return sameLine(p, q) && q.Record.Seq > p.Record.Seq
		})
	}
	seen := slices.Clone(parents)
	for todo := parents; len(todo) > 0; todo = todo[1:] {
		p := todo[0]
		if !answered(p) {
			a.Inputs = append(a.Inputs, p.ID)
			if p.outOfDate() {
				a.StaleInputs++
			}
			continue
		}
		for _, id := range p.Inputs {
			q, err := k.Artifact(id)
			if err != nil {
				return err
			}
			if len(seen) < maxInherited && !slices.Contains(seen, q) {
				seen, todo = append(seen, q), append(slices.Clip(todo), q)
			}
		}
	}
	return nil
}

// sameLine reports whether two artifacts are revisions of one family or name.
func sameLine(a, b *ArtifactState) bool {
	return a.Family == b.Family || a.Published.Name != "" && nameKey(a.Published) == nameKey(b.Published)
}

func (a *ArtifactState) outOfDate() bool {
	return a.known() && (a.Status() != handoff.Active || a.StaleInputs > 0)
}

// A tracedKeeper remembers which artifacts were out of date when they were loaded.
type tracedKeeper struct {
	Keeper
	was   map[string]bool
	order []string // the keys of was
}

func (t *tracedKeeper) Artifact(id string) (*ArtifactState, error) {
	a, err := t.Keeper.Artifact(id)
	if _, loaded := t.was[id]; err == nil && !loaded {
		t.was[id] = a.outOfDate()
		t.order = append(t.order, id)
	}
	return a, err
}

// foldTraced runs a fold, and then updates StaleInputs of what was made from the
// artifacts that it changed.
func foldTraced(k Keeper, fold func(Keeper) error) error {
	t := &tracedKeeper{Keeper: k, was: map[string]bool{}}
	if err := fold(t); err != nil {
		return err
	}
	for i := 0; i < len(t.order); i++ {
		id := t.order[i]
		a, err := k.Artifact(id)
		if err != nil {
			return err
		}
		if a.outOfDate() == t.was[id] {
			continue
		}
		t.was[id] = !t.was[id]
		if err := t.updateChildren(id, t.was[id]); err != nil {
			return err
		}
	}
	return nil
}

// updateChildren updates what was made from an artifact that went out of date, or
// is up to date again, and notes it for its own children.
func (t *tracedKeeper) updateChildren(id string, outOfDate bool) error {
	children, err := t.Children(id)
	if err != nil {
		return err
	}
	for _, child := range children {
		c, err := t.Artifact(child)
		if err != nil {
			return err
		}
		if !slices.Contains(c.Inputs, id) {
			continue
		}
		if outOfDate {
			c.StaleInputs++
		} else {
			c.StaleInputs--
		}
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
	var list []handoff.StaleInput
	seen := map[string]bool{}
	for todo := slices.Clone(a.Inputs); len(todo) > 0 && len(seen) < maxTraced && len(list) < maxStale; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		p, err := s.State(todo[0])
		if err != nil {
			return nil, err
		}
		switch {
		case !p.known(): // an index that was altered
		case p.Status() != handoff.Active:
			in, err := staleInput(s, p.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, in)
		case p.StaleInputs > 0:
			todo = append(slices.Clip(todo), p.Inputs...)
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

// activeRevisions returns what is active of the family and name of a.
func activeRevisions(s Store, a *ArtifactState) ([]handoff.ActiveRevision, error) {
	heads, err := s.Heads(a.Family)
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
