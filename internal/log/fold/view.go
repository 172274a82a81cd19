package fold

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// View returns the view of a published artifact. RecordPath and Target, which
// depend on the machine, are left empty.
func View(s Store, a *ArtifactState) (handoff.Artifact, error) {
	v, err := Readable(s, a)
	if err != nil {
		return v, err
	}
	v.Dropped = dropped(a, v)
	v.Revision = a.Predecessors + 1
	v.Labels, v.LabelHistory = slices.Clone(a.Labels), slices.Clone(a.LabelHistory)
	v.Applied = slices.Clone(a.Applied)
	if v.UsedBy, err = uses(s, a); err != nil {
		return v, err
	}
	if v.Root == "" && v.Worktree == "" {
		if v.Path, err = currentPath(s, v.Path, a.Record.Seq); err != nil {
			return v, err
		}
	}
	if v.ReplacedBy, err = replacedBy(s, a); err != nil {
		return v, err
	}
	if v.Status == handoff.Active {
		heads, err := s.Heads(a.Group())
		if err != nil {
			return v, err
		}
		for _, id := range heads {
			if id != a.ID {
				v.Competing = append(v.Competing, id)
			}
		}
		for _, id := range a.Rivals {
			if !slices.Contains(v.Competing, id) {
				v.Competing = append(v.Competing, id)
			}
		}
	}
	if v.Unresolved, err = unresolved(s, a); err != nil {
		return v, err
	}
	if v.StaleInputs, err = staleInputs(s, a); err != nil {
		return v, err
	}
	if v.Claimed, err = claimed(s, a, v); err != nil {
		return v, err
	}
	if err = addDiscussion(s, a, &v); err != nil {
		return v, err
	}
	if err = addAcceptance(s, a, &v); err != nil {
		return v, err
	}
	v.Late, err = late(s, a)
	return v, err
}

// late reports whether the artifact was published after its work, or what that is part
// of, was cancelled, after its run was closed, or after its session was closed if the
// log has no such run.
func late(s Store, a *ArtifactState) (bool, error) {
	if is, err := afterCancel(s, a); is || err != nil {
		return is, err
	}
	for _, id := range []string{a.Record.Producer.RunID, a.Record.Producer.Session} {
		if id == "" {
			continue
		}
		session, err := s.Session(id)
		if err != nil {
			return false, err
		}
		if session != nil {
			return session.Closed != 0 && session.Closed < a.Record.Seq, nil
		}
	}
	return false, nil
}

// maxAbove limits how deep work is nested, because forged records can form a cycle.
const maxAbove = 100

// afterCancel reports whether the work of an artifact, or what that is part of, was
// cancelled before.
func afterCancel(s Store, a *ArtifactState) (bool, error) {
	p := a.Record.Producer
	for id, above := p.WorkID, 0; id != "" && above < maxAbove; above++ {
		w, err := s.Work(p.Harness, id)
		if w == nil && above == 0 && err == nil && p.ParentWorkID != "" {
			w, err = s.Work(p.Harness, p.ParentWorkID)
		}
		if err != nil || w == nil {
			return false, err
		}
		if w.Cancelled != 0 && w.Cancelled < a.Record.Seq {
			return true, nil
		}
		id = w.Parent
	}
	return false, nil
}

// replacedBy returns the nearest artifacts that replace a, or were chosen over it, and are
// not withdrawn.
func replacedBy(s Store, a *ArtifactState) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	for todo := a.above(); len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if seen[id] {
			continue
		}
		seen[id] = true
		b, err := s.State(id)
		if err != nil {
			return nil, err
		}
		if b.Withdrawn {
			todo = append(todo, b.above()...)
			continue
		}
		ids = append(ids, id)
	}
	if a.Outdated && !a.Withdrawn {
		head, err := s.Pointer(nameSpace, nameKey(a.Published))
		if err != nil {
			return nil, err
		}
		if !seen[head] {
			ids = append(ids, head)
		}
	}
	return ids, nil
}

// unresolved returns the IDs in Parents that the log does not contain, and the
// IDs in Replaces that it does not contain before a.
func unresolved(s Store, a *ArtifactState) ([]string, error) {
	var ids []string
	for _, id := range a.Published.Replaces {
		if !slices.Contains(a.Replaced, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range a.Published.Parents {
		p, err := s.State(id)
		if err != nil {
			return nil, err
		}
		if !p.known() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
