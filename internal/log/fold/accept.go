package fold

import (
	"cmp"
	"slices"

	"github.com/agent-handoff/handoff"
)

// Group returns the key of the artifacts that a can compete with: the contest of its family,
// or the family.
func (a *ArtifactState) Group() string {
	if a.Contested != "" {
		return a.Contested
	}
	return a.Family
}

// below returns the artifacts that a replaces, or was chosen over.
func (a *ArtifactState) below() []string { return slices.Concat(a.Replaced, a.Chosen) }

// above returns the artifacts that replace a, or were chosen over it.
func (a *ArtifactState) above() []string { return slices.Concat(a.ReplacedBy, a.NotChosen) }

// foldAccepted chooses an artifact over others. Chosen and NotChosen never form a circle with
// Replaced: where an acceptance would close one, the earlier ones on the way no longer
// count if its author knew them. If a way is left, nothing decides between them, and none of
// them counts there. An acceptance over a later revision of the artifact itself never
// counts. An import decides between what it brought.
func foldAccepted(k *tracedKeeper, r handoff.Record, f *handoff.ArtifactAccepted) error {
	w, err := k.Artifact(f.ArtifactID)
	if err != nil || !w.known() || (r.Import != "" && r.Import != w.Import) {
		return err
	}
	by := f.User
	if by == "" {
		by = nameOf(r.Producer)
	}
	w.Acceptance = &handoff.Acceptance{ID: r.ID, By: by, Thread: r.Producer.Thread, Reason: f.Reason,
		CreatedAt: r.CreatedAt}
	if err := k.PutArtifact(w); err != nil {
		return err
	}
	for _, id := range f.Over {
		l, err := k.Artifact(id)
		if err != nil {
			return err
		}
		if !l.known() || l == w || (r.Import != "" && r.Import != l.Import) {
			continue
		}
		if err := joinContest(k, r.ID, w, l); err != nil {
			return err
		}
		if err := choose(k, w, l, f.Known); err != nil {
			return err
		}
	}
	return nil
}

// joinContest puts two artifacts in one group.
func joinContest(k Keeper, acceptance string, w, l *ArtifactState) error {
	if w.Group() == l.Group() {
		return nil
	}
	if w.Contested == "" && l.Contested == "" {
		if err := k.Contest(acceptance, w); err != nil {
			return err
		}
	}
	return joinContests(k, w, l)
}

// joinContests puts two artifacts in one group, if one of them is in a contest. It sets
// Contested of a, which need not be put.
func joinContests(k Keeper, a, b *ArtifactState) error {
	switch {
	case a.Contested == b.Contested:
		return nil
	case a.Contested == "":
		err := k.Contest(b.Contested, a)
		a.Contested = b.Contested
		return err
	}
	return k.Contest(a.Contested, b)
}

// choose makes an acceptance of w over l count, as foldAccepted describes.
func choose(k Keeper, w, l *ArtifactState, known []string) error {
	if slices.Contains(w.Chosen, l.ID) {
		return nil
	}
	if is, err := isRevised(k, w, l.ID); err != nil || is {
		return err
	}
	way, err := between(k, w, l)
	if err != nil {
		return err
	}
	isKnown := func(a *ArtifactState) bool { return a.Acceptance != nil && slices.Contains(known, a.Acceptance.ID) }
	changed, err := takeBack(k, way, isKnown)
	if err != nil {
		return err
	}
	for _, a := range changed {
		if len(a.Chosen) == 0 {
			a.Acceptance = nil
			if err := k.PutArtifact(a); err != nil {
				return err
			}
		}
	}
	if way, err = between(k, w, l); err != nil {
		return err
	}
	if len(way) > 0 {
		_, err = takeBack(k, way, func(*ArtifactState) bool { return true })
		return err
	}
	w.Chosen, l.NotChosen = append(w.Chosen, l.ID), append(l.NotChosen, w.ID)
	if err := k.PutArtifact(w); err != nil {
		return err
	}
	return supportChoice(k, w, l, +1)
}

// isRevised reports whether the artifact with an ID replaces a, directly or through others.
func isRevised(k Keeper, a *ArtifactState, id string) (bool, error) {
	seen := map[string]bool{}
	for todo := slices.Clone(a.ReplacedBy); len(todo) > 0; todo = todo[1:] {
		if todo[0] == id {
			return true, nil
		}
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		b, err := k.Artifact(todo[0])
		if err != nil {
			return false, err
		}
		todo = append(todo, b.ReplacedBy...)
	}
	return false, nil
}

// between returns the artifacts on all ways from w to one that supersedes it, with both ends.
// There are none if l does not supersede w, directly or through others.
func between(k Keeper, w, l *ArtifactState) (way []*ArtifactState, err error) {
	above, err := reach(k, w, (*ArtifactState).above, func(string) bool { return true })
	if err != nil || above[l.ID] == nil {
		return nil, err
	}
	on, err := reach(k, l, (*ArtifactState).below, func(id string) bool { return above[id] != nil })
	for _, a := range on {
		way = append(way, a)
	}
	slices.SortFunc(way, func(a, b *ArtifactState) int { return cmp.Compare(a.Record.Seq, b.Record.Seq) })
	return way, err
}

// reach returns an artifact and those that next leads to, by ID, as far as may allows.
func reach(k Keeper, a *ArtifactState, next func(*ArtifactState) []string,
	may func(id string) bool) (map[string]*ArtifactState, error) {
	found := map[string]*ArtifactState{a.ID: a}
	for todo := []*ArtifactState{a}; len(todo) > 0; todo = todo[1:] {
		for _, id := range next(todo[0]) {
			if found[id] != nil || !may(id) {
				continue
			}
			b, err := k.Artifact(id)
			if err != nil {
				return nil, err
			}
			found[id], todo = b, append(todo, b)
		}
	}
	return found, nil
}

// takeBack takes back the choices of those artifacts on a way that which selects, and returns
// the artifacts that had one.
func takeBack(k Keeper, way []*ArtifactState, which func(*ArtifactState) bool) (changed []*ArtifactState, err error) {
	on := map[string]*ArtifactState{}
	for _, a := range way {
		on[a.ID] = a
	}
	for _, w := range way {
		before := len(w.Chosen)
		for _, id := range slices.Clone(w.Chosen) {
			l := on[id]
			if l == nil || !which(w) {
				continue
			}
			w.Chosen, l.NotChosen = without(w.Chosen, l.ID), without(l.NotChosen, w.ID)
			if err := k.PutArtifact(w); err != nil {
				return nil, err
			}
			if err := supportChoice(k, w, l, -1); err != nil {
				return nil, err
			}
		}
		if len(w.Chosen) < before {
			changed = append(changed, w)
		}
	}
	return changed, nil
}

func without(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(o string) bool { return o == id })
}

// supportChoice follows that w was chosen over l, with n +1, or no longer is, with -1.
func supportChoice(k Keeper, w, l *ArtifactState, n int) error {
	if err := k.PutArtifact(l); err != nil {
		return err
	}
	if w.supersedes() {
		if err := addSupport(k, []string{l.ID}, n); err != nil {
			return err
		}
	}
	if !sameName(w, l) {
		return nil
	}
	return updateHead(k, l.Published)
}

// isPassedOver reports whether another revision of its name was chosen over a, and not taken
// back or withdrawn. known has the answers so far.
func isPassedOver(k Keeper, a *ArtifactState, known map[string]bool) bool {
	if passed, ok := known[a.ID]; ok {
		return passed
	}
	known[a.ID] = false
	for _, id := range a.NotChosen {
		w, err := k.Artifact(id)
		if err == nil && !w.Withdrawn && sameName(w, a) && !isPassedOver(k, w, known) {
			known[a.ID] = true
			break
		}
	}
	return known[a.ID]
}

func sameName(a, b *ArtifactState) bool {
	return a.Published.Name != "" && nameKey(a.Published) == nameKey(b.Published)
}

// addAcceptance sets what acceptances say about an artifact.
func addAcceptance(s Store, a *ArtifactState, v *handoff.Artifact) error {
	if a.Acceptance != nil && (v.Status == handoff.Active || len(a.Chosen) > 0) {
		accepted := *a.Acceptance
		accepted.Over = slices.Clone(a.Chosen)
		v.Acceptance = &accepted
	}
	// Acceptances on all ways up.
	seen := map[string]bool{a.ID: true}
	for todo := slices.Clone(a.NotChosen); len(todo) > 0 && len(seen) < maxTraced; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		w, err := s.State(todo[0])
		if err != nil {
			return err
		}
		if len(w.Chosen) > 0 {
			v.NotChosenIn = append(v.NotChosenIn, w.Acceptance.ID)
		}
		if v.Status == handoff.Superseded && slices.Contains(a.NotChosen, w.ID) && w.supersedes() {
			v.Reason = handoff.NotChosen
		}
		todo = append(todo, w.above()...)
	}
	return nil
}
