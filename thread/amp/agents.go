package amp

import (
	"context"
	"errors"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is a thread that main says it
// handed work to.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	d, err := readDocument(main.Source)
	if err != nil {
		return nil, err
	}
	var agents []thread.Agent
	for _, rel := range d.handoffs() {
		if rel.other == main.ID || rel.role == "child" || slices.ContainsFunc(agents, func(a thread.Agent) bool { return a.ID == rel.other }) {
			continue
		}
		a, err := p.agent(ctx, main, rel)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	slices.SortStableFunc(agents, func(a, b thread.Agent) int { return a.Lifecycle[0].Time.Compare(b.Lifecycle[0].Time) })
	return agents, nil
}

// agent puts together what parent and child say. Where neither calls itself
// what it is, they are only said to be related.
func (p *provider) agent(ctx context.Context, main *thread.Thread, rel relation) (thread.Agent, error) {
	a := thread.Agent{ID: rel.other}
	seen := "the main thread names it, and does not say which of the two is the parent"
	if rel.role == "parent" {
		seen = "main relationships includes handoff(role=parent) to child thread"
		a.Evidence = append(a.Evidence, seen)
	}
	a.Lifecycle = append(a.Lifecycle, thread.Event{Time: rel.at, Name: "handoff", Detail: seen})
	child, err := p.Thread(ctx, rel.other)
	if errors.Is(err, handoff.NotFound) {
		a.State = thread.State{Status: thread.NotFound, Source: thread.Inferred, Evidence: "its thread is not on this machine", At: rel.at}
		a.Settle(main, thread.Facts{})
		return a, nil
	}
	if err != nil {
		return a, err
	}
	d, err := readDocument(child.Source)
	if err != nil {
		return a, err
	}
	for _, back := range d.handoffs() {
		if back.other == main.ID && back.role == "child" {
			seen := "child relationships includes handoff(role=child) back to main thread"
			a.Evidence = append(a.Evidence, seen)
			a.Lifecycle = append(a.Lifecycle, thread.Event{Time: back.at, Name: "handoff_backlink", Detail: seen})
		}
	}
	a.Thread, err = child, child.Load(ctx)
	a.Settle(main, child.Facts)
	return a, err
}
