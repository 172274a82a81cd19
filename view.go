package handoff

import (
	"cmp"
	"slices"
)

// View computes what a reader sees of an artifact that is known. What only a
// machine can tell, RecordPath and Target, stays empty.
func View(s Store, a *ArtifactState) (Artifact, error) {
	v := Artifact{Record: a.Record, ArtifactPublished: *a.Published, Status: a.Status(), Reason: a.Reason, UsedBy: slices.Clone(a.Users)}
	var err error
	if v.Root == "" && v.Worktree == "" {
		if v.Path, err = current(s, v.Path, a.Record.Seq); err != nil {
			return v, err
		}
	}
	if v.ReplacedBy, err = replacedBy(s, a); err != nil {
		return v, err
	}
	if v.Status == Active {
		heads, err := s.Heads(a.Family)
		if err != nil {
			return v, err
		}
		for _, id := range heads {
			if id != a.ID {
				v.Competing = append(v.Competing, id)
			}
		}
	}
	if v.Unresolved, err = unresolved(s, a); err != nil {
		return v, err
	}
	p := a.Record.Producer
	session, err := s.Session(cmp.Or(p.RunID, p.Session))
	if session != nil && session.Closed != 0 {
		v.Late = session.Closed < a.Record.Seq
	}
	return v, err
}

// replacedBy returns the nearest artifacts that stand in a's place and were
// not withdrawn.
func replacedBy(s Store, a *ArtifactState) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	for todo := slices.Clone(a.Above); len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if seen[id] {
			continue
		}
		seen[id] = true
		b, err := s.Artifact(id)
		if err != nil {
			return nil, err
		}
		if b.Withdrawn {
			todo = append(todo, b.Above...)
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

// unresolved returns the ids that a names and the log has not, or not before a
// where a replaces them.
func unresolved(s Store, a *ArtifactState) ([]string, error) {
	var ids []string
	for _, id := range a.Published.Replaces {
		if !slices.Contains(a.Below, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range a.Published.Parents {
		p, err := s.Artifact(id)
		if err != nil {
			return nil, err
		}
		if !p.known() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
