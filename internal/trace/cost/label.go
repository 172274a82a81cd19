package cost

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// labelsOf returns the labels of the artifacts of leaves, see Labels.
func labelsOf(leaves []Leaf) map[string][]string {
	known := map[string]handoff.Artifact{}
	var labelled []string
	for _, l := range leaves {
		for _, m := range l.Artifacts {
			if m.Artifact != nil {
				known[m.Artifact.ID] = *m.Artifact
				if len(m.Artifact.Labels) > 0 {
					labelled = append(labelled, m.Artifact.ID)
				}
			}
		}
	}
	return Labels(labelled, func(id string) (handoff.Artifact, bool) {
		a, ok := known[id]
		return a, ok
	})
}

// Labels returns the labels that each artifact was made for, as CHANNEL:LABEL: its
// own, those of the artifacts that replace it, and those of what was made from it.
// labelled are the artifacts that have labels; find finds any.
func Labels(labelled []string, find func(id string) (handoff.Artifact, bool)) map[string][]string {
	labels := map[string][]string{}
	for _, id := range labelled {
		a, _ := find(id)
		for _, name := range a.Labels {
			label := a.Channel + ":" + name
			reach(find, a.ID, func(id string) bool {
				known := slices.Contains(labels[id], label)
				if !known {
					labels[id] = append(labels[id], label)
				}
				return !known
			})
		}
	}
	for id := range labels {
		slices.Sort(labels[id])
	}
	return labels
}

// reach calls visit for an artifact, for those that it replaces, and for its inputs,
// and goes on from those for which visit returns true.
func reach(find func(string) (handoff.Artifact, bool), id string, visit func(id string) bool) {
	for next := []string{id}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if a, ok := find(id); ok && visit(id) {
			next = append(append(next, a.Replaces...), a.Parents...)
		}
	}
}
