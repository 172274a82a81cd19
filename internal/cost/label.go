package cost

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// labelsOf returns the labels that each artifact was made for, as CHANNEL:LABEL: its
// own, those of the artifacts that replace it, and those of what was made from it.
func labelsOf(leaves []Leaf) map[string][]string {
	artifacts := map[string]handoff.Artifact{}
	for _, l := range leaves {
		for _, a := range l.Artifacts {
			artifacts[a.ID] = a
		}
	}
	labels := map[string][]string{}
	for _, a := range artifacts {
		for _, name := range a.Labels {
			label := a.Channel + ":" + name
			reach(artifacts, a.ID, func(id string) bool {
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
func reach(artifacts map[string]handoff.Artifact, id string, visit func(id string) bool) {
	for next := []string{id}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if a, ok := artifacts[id]; ok && visit(id) {
			next = append(append(next, a.Replaces...), a.Parents...)
		}
	}
}
