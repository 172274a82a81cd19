package amp

import (
	"context"
	"errors"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is a thread that main handed work
// off to. Threads that only name main as their parent are not searched for.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	d, err := readDocument(ctx, main.Source, skip)
	if err != nil {
		return nil, err
	}
	var agents []thread.Agent
	for _, rel := range d.handoffs() {
		if rel.other == main.ID || rel.role == "child" ||
			slices.ContainsFunc(agents, func(a thread.Agent) bool { return a.ID == rel.other }) {
			continue
		}
		a, err := p.agent(ctx, main, rel)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	order.Sort(agents, func(a, b thread.Agent) int { return a.Lifecycle[0].Time.Compare(b.Lifecycle[0].Time) })
	return agents, nil
}

// agent combines the records of the parent and of the child. The relation is
// validated if one of them records its own role.
func (p *provider) agent(ctx context.Context, main *thread.Thread, rel relation) (thread.Agent, error) {
	a := thread.Agent{ID: rel.other}
	evidence := "main thread names it without the role of either"
	if rel.role == "parent" {
		evidence = "main relationships includes handoff(role=parent) to child thread"
		a.Evidence = append(a.Evidence, evidence)
	}
	a.AddEvent(rel.at, "handoff", evidence)
	child, err := p.Thread(ctx, rel.other)
	if errors.Is(err, handoff.NotFound) {
		a.State = thread.ReadState(thread.NotFound, thread.Inferred, rel.at, "the thread is not on this machine")
		a.Complete(main, thread.Facts{})
		return a, nil
	}
	if err != nil {
		return a, err
	}
	d, err := readDocument(ctx, child.Source, skip)
	if err != nil {
		return a, err
	}
	for _, back := range d.handoffs() {
		if back.other == main.ID && back.role == "child" {
			evidence := "child relationships includes handoff(role=child) back to main thread"
			a.Evidence = append(a.Evidence, evidence)
			a.AddEvent(back.at, "handoff_backlink", evidence)
		}
	}
	a.Thread, err = child, child.Load(ctx)
	a.Complete(main, child.Facts)
	return a, err
}
