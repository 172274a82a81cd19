package codex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is one that the parent's rollout
// mentions, or whose own rollout names the parent.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*rollout](ctx, main)
	if err != nil {
		return nil, err
	}
	children, err := p.children(ctx, main, r)
	if err != nil {
		return nil, err
	}
	same := func(s *subagent, c *thread.Thread) bool {
		m := c.Reader.(*rollout).meta
		return c.ID == s.ID || s.path != "" && m.path == s.path && m.parent == main.ID
	}
	found := make([]child, len(children))
	thread.Parallel(len(children), func(i int) {
		facts, err := children[i].Reader.(*rollout).state(ctx)
		found[i] = child{children[i], facts, err}
	})
	own := map[*thread.Thread]child{}
	for _, c := range found {
		own[c.Thread] = c
	}
	return thread.Join(r.subagents.agents, children, same, func(s *subagent, c *thread.Thread) (thread.Agent, error) {
		return agent(main, s, own[c])
	})
}

// A child is the thread of a subagent, with what its rollout shows. It is zero if there is
// none.
type child struct {
	*thread.Thread
	facts thread.Facts
	err   error
}

// children opens the rollouts of the subagents that main mentions, and of those
// that name main. The latter were started while main was written.
func (p *provider) children(ctx context.Context, main *thread.Thread, r *rollout) ([]*thread.Thread, error) {
	var ids []string
	for _, s := range r.subagents.agents {
		if s.ID != "" {
			ids = append(ids, s.ID)
		}
	}
	var files []file
	if len(ids) > 0 {
		copies, err := p.locate(newTree(ctx), ids...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			files = append(files, copies[id]...)
		}
	}
	if from, to := r.written(main); !from.IsZero() {
		near, err := p.between(ctx, from, to)
		if err != nil {
			return nil, err
		}
		near = slices.DeleteFunc(near, func(f file) bool {
			return f.id == main.ID || f.id == "" || slices.Contains(ids, f.id)
		})
		parents := make([]string, len(near))
		thread.Parallel(len(near), func(i int) {
			if m, err := readMeta(near[i]); err == nil {
				parents[i] = m.parent
			}
		})
		for i, f := range near {
			if parents[i] == main.ID {
				files = append(files, f)
			}
		}
	}
	return thread.Children(main, files, fileID, p.open)
}

// written returns the range in which a rollout was written, in the local time of
// its machine. The time zone is known only for the start, so the end is the latest
// possible one.
func (r *rollout) written(main *thread.Thread) (from, to time.Time) {
	const (
		slack  = 2 * time.Hour // for clocks that are set back
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

// agent combines the records of the parent and of the child. One of them may be
// missing.
func agent(main *thread.Thread, s *subagent, own child) (a thread.Agent, err error) {
	path := ""
	if s != nil {
		a, path = s.Agent, s.path
		a.ID = cmp.Or(a.ID, path)
		if s.spawned {
			a.Evidence = append(a.Evidence, "parent rollout contains spawn_agent output")
		}
	}
	if own.Thread != nil {
		r := own.Reader.(*rollout)
		a.Thread, path = own.Thread, cmp.Or(path, r.meta.path)
		a.Name, a.Role = cmp.Or(a.Name, own.AgentName), cmp.Or(a.Role, own.AgentRole)
		if r.meta.parent == main.ID {
			a.Evidence = append(a.Evidence, "child session_meta points to main thread")
		}
		if own.err != nil {
			return a, own.err
		}
	}
	if path != "" {
		a.Aliases = append(a.Aliases, path, path[strings.LastIndexByte(path, '/')+1:])
	}
	a.Complete(main, own.facts)
	return a, nil
}
