package codex

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is one that the parent's
// rollout tells of, or whose own names the parent.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, ok := main.Reader.(*rollout)
	if !ok {
		return nil, errors.New("the thread is of another provider")
	}
	if r.seen == nil {
		if err := main.Load(ctx); err != nil {
			return nil, err
		}
	}
	children, err := p.children(ctx, main, r)
	if err != nil {
		return nil, err
	}
	var agents []thread.Agent
	for _, s := range r.seen.agents {
		i := slices.IndexFunc(children, func(c *thread.Thread) bool {
			m := c.Reader.(*rollout).meta
			return c.ID == s.id || s.path != "" && m.path == s.path && m.parent == main.ID
		})
		var child *thread.Thread
		if i >= 0 {
			child = children[i]
			children = slices.Delete(children, i, i+1)
		}
		a, err := agent(ctx, main, *s, child)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	for _, child := range children {
		a, err := agent(ctx, main, sighting{}, child)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// children opens the rollouts of the subagents that main's tells of, and of
// those that name main: they were begun while it was written.
func (p *provider) children(ctx context.Context, main *thread.Thread, r *rollout) ([]*thread.Thread, error) {
	var ids []string
	for _, s := range r.seen.agents {
		if s.id != "" {
			ids = append(ids, s.id)
		}
	}
	copies := map[string][]file{}
	if len(ids) > 0 {
		var err error
		if copies, err = p.locate(ctx, ids...); err != nil {
			return nil, err
		}
	}
	from, to := r.written(main)
	if !from.IsZero() {
		near, err := p.between(ctx, from, to)
		if err != nil {
			return nil, err
		}
		for _, f := range near {
			if f.id == main.ID || f.id == "" || slices.Contains(ids, f.id) {
				continue
			}
			if m, err := readMeta(f); err == nil && m.parent == main.ID {
				copies[f.id] = append(copies[f.id], f)
			}
		}
	}
	var list []*thread.Thread
	for id, files := range copies {
		if len(files) == 0 || id == main.ID {
			continue
		}
		t, err := p.open(files)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *thread.Thread) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// written says from when to when a rollout was written, in the local time of its
// machine, which is known for the start only: the end is the latest it can be.
func (r *rollout) written(main *thread.Thread) (from, to time.Time) {
	const (
		slack  = 2 * time.Hour // clocks are put back
		offset = 14 * time.Hour
	)
	from, err := time.Parse(stampLayout, r.file.stamp)
	if err != nil {
		if main.Started.IsZero() {
			return from, to
		}
		from = main.Started.Add(-offset)
	}
	to = main.Last
	if to.Before(from) {
		to = from
	}
	return from.Add(-slack), to.UTC().Add(offset)
}

// agent puts together what parent and child say.
func agent(ctx context.Context, main *thread.Thread, s sighting, child *thread.Thread) (thread.Agent, error) {
	a := thread.Agent{ID: or(s.id, s.path), Name: s.name, Role: s.role, State: s.state, Lifecycle: s.events, Thread: child}
	if s.spawned {
		a.Evidence = append(a.Evidence, "parent rollout contains spawn_agent output")
	}
	path := s.path
	if child != nil {
		r := child.Reader.(*rollout)
		a.ID, path = child.ID, or(path, r.meta.path)
		a.Name, a.Role = or(a.Name, child.AgentName), or(a.Role, child.AgentRole)
		if r.meta.parent == main.ID {
			a.Evidence = append(a.Evidence, "child session_meta points to main thread")
		}
		facts, err := r.state(ctx)
		if err != nil {
			return a, err
		}
		a.State = thread.Newest(s.state, facts.State)
		if a.Updated = facts.Last; a.Updated.IsZero() {
			a.Updated = child.Updated
		}
	}
	a.Validated = len(a.Evidence) > 0
	if a.State.Status == "" {
		a.State = thread.State{Status: thread.NotFound, Source: thread.Inferred, Evidence: "it is only spoken of, and left no transcript"}
	}
	if path != "" {
		a.Aliases = append(a.Aliases, path, path[strings.LastIndexByte(path, '/')+1:])
	}
	if a.Name != "" {
		a.Aliases = append(a.Aliases, a.Name)
	}
	a.URI = main.URI().Child(a.ID)
	return a, nil
}
