// Package agents relates subagents to the threads that they work for.
package agents

import (
	"maps"
	"slices"

	"github.com/agent-handoff/handoff/thread"
)

// Parents has the parents of subagents that may have subagents themselves. Both are
// URIs of threads without a parent.
type Parents map[string]string

// maxLevels is how many levels of subagents are followed: transcripts may name each
// other as parents.
const maxLevels = 64

// Main returns the thread that a subagent with this parent belongs to.
func (p Parents) Main(parent string) string {
	for range maxLevels {
		above, ok := p[parent]
		if !ok {
			break
		}
		parent = above
	}
	return parent
}

// Add adds a subagent, unless it has no parent. The first one with a URI counts.
func (p Parents) Add(self, parent string) {
	if _, known := p[self]; !known && parent != "" {
		p[self] = parent
	}
}

// Inside returns the subagents that belong to some threads.
func (p Parents) Inside(mains map[string]bool) []string {
	list := []string{}
	for self, parent := range p {
		if mains[p.Main(parent)] {
			list = append(list, self)
		}
	}
	return list
}

// Started has the IDs of the subagents that threads started, by the URI of each thread
// without its parent.
type Started map[string][]string

// Add adds what a thread started. The first one with a URI counts.
func (s Started) Add(self string, ids []string) {
	if len(ids) > 0 && s[self] == nil {
		s[self] = ids
	}
}

// An Agent is a subagent that a thread started.
type Agent struct {
	By  string     // URI of the thread
	URI thread.URI // with the thread
	Own thread.URI // of the subagent alone
}

// Agents returns the subagents, in the order of the URIs of the threads.
func (s Started) Agents() (list []Agent) {
	for _, self := range slices.Sorted(maps.Keys(s)) {
		by, err := thread.ParseURI(self)
		if err != nil {
			continue
		}
		for _, id := range slices.Sorted(slices.Values(s[self])) {
			list = append(list, Agent{self, by.Child(id), thread.URI{Provider: by.Provider, Thread: thread.LowerUUID(id)}})
		}
	}
	return list
}
