package threadindex

import (
	"maps"
	"slices"

	"github.com/agent-handoff/handoff/thread"
)

// A parentOf has the parents of subagents that may have subagents themselves. Both are
// URIs of threads without a parent.
type parentOf map[string]string

// maxLevels is how many levels of subagents are followed: transcripts may name each
// other as parents.
const maxLevels = 64

// main returns the thread that a subagent with this parent belongs to.
func (p parentOf) main(parent string) string {
	for range maxLevels {
		above, ok := p[parent]
		if !ok {
			break
		}
		parent = above
	}
	return parent
}

// add adds a subagent, unless it has no parent. The first one with a URI counts.
func (p parentOf) add(self, parent string) {
	if _, known := p[self]; !known && parent != "" {
		p[self] = parent
	}
}

// inside returns the subagents that belong to some threads.
func (p parentOf) inside(mains map[string]bool) []string {
	list := []string{}
	for self, parent := range p {
		if mains[p.main(parent)] {
			list = append(list, self)
		}
	}
	return list
}

// A startedBy has the IDs of the subagents that threads started, by the URI of each thread
// without its parent.
type startedBy map[string]spawned

// A spawned has the IDs of the subagents that a thread started, and the URI of the thread's
// parent, "" for none.
type spawned struct {
	parent string
	ids    []string
}

// add adds what a thread started. The first one with a URI counts.
func (s startedBy) add(self string, of spawned) {
	if _, known := s[self]; !known && len(of.ids) > 0 {
		s[self] = of
	}
}

// A subagent is one that a thread started.
type subagent struct {
	by  string     // URI of the thread
	uri thread.URI // with the thread
	own thread.URI // of the subagent alone

	// with the thread that the one which started it is a subagent of, "" for none: it has all
	// subagents in some programs
	beside string
}

// subagents returns the subagents, in the order of the URIs of the threads.
func (s startedBy) subagents() (list []subagent) {
	for _, self := range slices.Sorted(maps.Keys(s)) {
		by, err := thread.ParseURI(self)
		if err != nil {
			continue
		}
		parent, noParent := thread.ParseURI(s[self].parent)
		for _, id := range slices.Sorted(slices.Values(s[self].ids)) {
			a := subagent{by: self, uri: by.Child(id),
				own: thread.URI{Provider: by.Provider, Thread: thread.LowerUUID(id)}}
			if noParent == nil {
				a.beside = parent.Child(id).String()
			}
			list = append(list, a)
		}
	}
	return list
}
