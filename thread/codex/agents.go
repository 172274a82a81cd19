package codex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is one that the parent's
// rollout tells of, or whose own names the parent.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReadBy[*rollout](ctx, main)
	if err != nil {
		return nil, err
	}
	children, err := p.children(ctx, main, r)
	if err != nil {
		return nil, err
	}
	is := func(s *sighting, c *thread.Thread) bool {
		m := c.Reader.(*rollout).meta
		return c.ID == s.id || s.path != "" && m.path == s.path && m.parent == main.ID
	}
	return thread.Join(r.seen.agents, children, is, func(s *sighting, c *thread.Thread) (thread.Agent, error) {
		return agent(ctx, main, s, c)
	})
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
	slices.SortFunc(list, thread.ByStart)
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

// agent puts together what parent and child say. The parent may not speak of
// the child, the child may have left nothing.
func agent(ctx context.Context, main *thread.Thread, s *sighting, child *thread.Thread) (a thread.Agent, err error) {
	path := ""
	if s != nil {
		a = thread.Agent{ID: cmp.Or(s.id, s.path), Name: s.name, Role: s.role, State: s.state, Lifecycle: s.events}
		path = s.path
		if s.spawned {
			a.Evidence = append(a.Evidence, "parent rollout contains spawn_agent output")
		}
	}
	var own thread.Facts
	if child != nil {
		r := child.Reader.(*rollout)
		a.Thread, path = child, cmp.Or(path, r.meta.path)
		a.Name, a.Role = cmp.Or(a.Name, child.AgentName), cmp.Or(a.Role, child.AgentRole)
		if r.meta.parent == main.ID {
			a.Evidence = append(a.Evidence, "child session_meta points to main thread")
		}
		if own, err = r.state(ctx); err != nil {
			return a, err
		}
	}
	if path != "" {
		a.Aliases = append(a.Aliases, path, path[strings.LastIndexByte(path, '/')+1:])
	}
	a.Settle(main, own)
	return a, nil
}
