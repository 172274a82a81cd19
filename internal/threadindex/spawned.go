package threadindex

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A spawned has the IDs of the subagents that threads started, by the URI of each
// thread without its parent.
type spawned map[string][]string

func (s spawned) add(self string, ids []string) {
	if len(ids) > 0 && s[self] == nil {
		s[self] = ids
	}
}

// without returns the subagents without a transcript, in the order of their URIs.
func (s spawned) without(has func(by, agent thread.URI) bool, nested nesting) (list []ThreadUsage) {
	for _, self := range slices.Sorted(maps.Keys(s)) {
		by, err := thread.ParseURI(self)
		if err != nil {
			continue
		}
		for _, id := range slices.Sorted(slices.Values(s[self])) {
			agent := thread.URI{Provider: by.Provider, Thread: thread.LowerUUID(id)}
			if has(by, agent) {
				continue
			}
			list = append(list, ThreadUsage{URI: by.Child(id).String(), Self: agent.String(), Main: nested.main(self), Missing: true,
				Completeness: thread.NoUsage, Reason: "the transcript of a subagent is missing"})
		}
	}
	return list
}

// has returns whether a subagent is one of those that were read, or its provider has it.
func (f *Files) has(ctx context.Context, read []ThreadUsage) func(by, agent thread.URI) bool {
	return func(_, agent thread.URI) bool {
		if slices.ContainsFunc(read, func(u ThreadUsage) bool { return u.Self == agent.String() }) {
			return true
		}
		p, err := f.set.Provider(agent.Provider)
		if err == nil {
			_, err = p.Thread(ctx, agent.Thread)
		}
		return !errors.Is(err, handoff.NotFound)
	}
}

// has returns whether the index has a subagent, for those in s. Its transcript need not
// name the thread that started it.
func (a answer) has(ctx context.Context, s spawned) (func(by, agent thread.URI) bool, error) {
	known := map[string]bool{}
	if len(s) == 0 {
		return nil, nil
	}
	uris := []string{}
	s.without(func(by, agent thread.URI) bool {
		uris = append(uris, by.Child(agent.Thread).String(), agent.String())
		return true
	}, nil)
	found, err := a.strings(ctx, "SELECT uri FROM threads WHERE uri IN (SELECT value FROM json_each(?))", list(uris))
	for _, uri := range found {
		known[uri] = true
	}
	return func(by, agent thread.URI) bool {
		return known[by.Child(agent.Thread).String()] || known[agent.String()]
	}, err
}
