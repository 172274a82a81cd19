package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A subagent is one that the transcript mentions,
// or one that the store or its own head has as a subagent of the thread.
func (p *Provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*Reader](ctx, main)
	if err != nil {
		return nil, err
	}
	mentions := slices.DeleteFunc(slices.Clone(r.mentions), func(m *Mention) bool { return m.ID == main.ID })
	var children []*thread.Thread
	if !r.inside {
		if children, err = p.children(ctx, main, mentions); err != nil {
			return nil, err
		}
	}
	children = append(children, slicesOf(main, mentions, children)...)
	if mentions, err = deeper(ctx, main, mentions, children); err != nil {
		return nil, err
	}
	facts, err := states(ctx, children)
	if err != nil {
		return nil, err
	}
	same := func(m *Mention, t *thread.Thread) bool { return m.same(t, main) }
	children = inOrder(children, mentions)
	agents, err := thread.Join(mentions, children, same, func(m *Mention, child *thread.Thread) (thread.Agent, error) {
		return p.agent(main, m, child, facts[child]), nil
	})
	if p.ByStart {
		order.Sort(agents, func(a, b thread.Agent) int { return start(a).Compare(start(b)) })
	}
	return agents, err
}

// inOrder returns children in the order of their mentions, so that each is found at once, and
// then those without one.
func inOrder(children []*thread.Thread, mentions []*Mention) []*thread.Thread {
	byID := make(map[string]*thread.Thread, len(children))
	for _, t := range children {
		byID[t.ID] = t
	}
	list, placed := make([]*thread.Thread, 0, len(children)), map[*thread.Thread]bool{}
	for _, m := range mentions {
		if t := byID[m.ID]; t != nil && !placed[t] {
			list, placed[t] = append(list, t), true
		}
	}
	return append(list, slices.DeleteFunc(children, func(t *thread.Thread) bool { return placed[t] })...)
}

// deeper returns the mentions of main with those of its subagents, for children that
// another subagent started: only that one mentions them. It reads each transcript once.
// What may be a subagent is left out if it has no transcript.
func deeper(ctx context.Context, main *thread.Thread, mentions []*Mention, children []*thread.Thread) ([]*Mention,
	error) {
	named := map[string]bool{}
	for _, m := range mentions {
		named[m.ID] = named[m.ID] || !m.Maybe
	}
	unknown := map[string]*thread.Thread{}
	for _, t := range children {
		if f := t.Reader.(*Reader).found; f.Deeper && !named[t.ID] && !named[f.Named] {
			unknown[t.ID] = t
		}
	}
	started, err := startedBy(ctx, children, unknown)
	if !slices.ContainsFunc(mentions, func(m *Mention) bool { return m.Maybe }) {
		return append(started, mentions...), err
	}
	rest := slices.Clone(children)
	return slices.DeleteFunc(append(started, mentions...), func(m *Mention) bool {
		i := slices.IndexFunc(rest, func(t *thread.Thread) bool { return m.same(t, main) })
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
		return i < 0 && m.Maybe
	}), err
}

// startedBy returns the mentions of threads, by ID, in those of others that started them,
// and sets their parents.
func startedBy(ctx context.Context, others []*thread.Thread, threads map[string]*thread.Thread) (list []*Mention,
	err error) {
	for _, other := range others {
		if len(threads) == 0 {
			break
		}
		if !other.Loaded() {
			if err := other.Load(ctx); err != nil {
				return nil, err
			}
		}
		for _, m := range other.Reader.(*Reader).mentions {
			t := threads[m.ID]
			if t == nil || m.Maybe || t == other {
				continue
			}
			t.Parent = other.ID
			started := *m
			started.Evidence = []string{"agent " + other.ID + " of the same session spawned it"}
			list = append(list, &started)
			delete(threads, m.ID)
		}
	}
	return list, ctx.Err()
}

// same reports whether a transcript is that of a subagent that main mentions.
func (m *Mention) same(t, main *thread.Thread) bool {
	return (m.ID != "" && m.ID == t.ID) || m.is(t.Reader.(*Reader).found, main)
}

// is reports whether a transcript is that of the subagent, which main mentions.
func (m *Mention) is(f *Found, main *thread.Thread) bool {
	switch {
	case m.Span.Len > 0:
		return false
	case m.ID != "" && (m.ID == f.ID || m.ID == f.Named), m.File != "" && m.File == filepath.Base(f.Path),
		m.ID == "" && m.Prompt != 0 && m.Prompt == f.Prompt,
		m.Path != "" && m.Path == f.Alias && f.Parent == main.ID:
		return true
	}
	return f.ID != "" && slices.Contains(m.Aliases, f.ID)
}

// children opens the transcripts of main's subagents, in the order they were started.
func (p *Provider) children(ctx context.Context, main *thread.Thread, mentions []*Mention) ([]*thread.Thread, error) {
	w := thread.NewWalk(ctx)
	all, err := p.find(ctx, w, p.during(main), false)
	beside := func(f *Found) bool { return f.Path == main.Source }
	if err != nil && ctx.Err() == nil && slices.ContainsFunc(all, beside) {
		err = nil // another database can't be read; the subagents are in that of the thread
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err := w.Err(p.Name); err != nil {
		main.Warn("subagents may be missing: %v", err)
	}
	mentioned := func(f *Found) bool {
		return slices.ContainsFunc(mentions, func(m *Mention) bool { return !m.Maybe && m.is(f, main) })
	}
	during := thread.StartedDuring(main.Source, main.Reader.(*Reader).found.Begun, main.Last, p.Begun)
	ids := map[string]bool{main.ID: true}
	for _, f := range all {
		near := p.Begun == "" || during(f.Begun)
		if p.Named && ids[f.Parent] {
			continue
		}
		if (f.Parent == "" && !p.Mentioned && near) || mentioned(f) {
			p.head(w, f)
		}
	}
	var found []*Found
	for more := true; more; more = more && p.Deep {
		more = false
		all = slices.DeleteFunc(all, func(f *Found) bool {
			itself := f.Path == main.Source && f.ID == main.ID
			if f.Err != nil || itself || (!ids[f.Parent] && !mentioned(f)) {
				return false
			}
			found, more = append(found, f), true
			return true
		})
		for _, f := range found {
			ids[f.key()] = ids[f.key()] || p.Deep
		}
	}
	for _, m := range mentions {
		at := func(f *Found) bool { return m.is(f, main) }
		if p.Begun != "" && m.Span.Len == 0 && !m.Maybe && !slices.ContainsFunc(found, at) {
			found = append(found, p.elsewhere(ctx, w, m)...)
		}
	}
	return thread.Children(main, found, (*Found).key, func(copies []*Found) (*thread.Thread, error) {
		return p.open(w, copies)
	})
}

// during returns the query for the subagents of main, which were started while it was
// written.
func (p *Provider) during(main *thread.Thread) Query {
	q := Query{Parent: cmp.Or(main.Reader.(*Reader).found.Parent, main.ID), Beside: main.Source}
	narrow := slices.ContainsFunc(p.Stores, func(s Store) bool { return s.Narrow != nil })
	if narrow && p.Begun != "" && !main.Started.IsZero() {
		const slack = 15 * time.Hour // names have local times
		q.From, q.To = main.Started.Add(-slack), main.Last.Add(slack)
	}
	return q
}

// elsewhere finds a subagent that was started at another time than its parent shows.
func (p *Provider) elsewhere(ctx context.Context, w *thread.Walk, m *Mention) []*Found {
	narrow := slices.ContainsFunc(p.Stores, func(s Store) bool { return s.Narrow != nil })
	if p.Find != nil || m.ID == m.Path || !narrow {
		return nil // all were found
	}
	all, _ := p.find(ctx, w, Query{ID: m.ID}, false)
	return p.named(w, all, m.ID)
}

// slicesOf returns the threads of subagents whose records are in the transcript of main,
// besides those with a transcript of their own.
func slicesOf(main *thread.Thread, mentions []*Mention, own []*thread.Thread) (list []*thread.Thread) {
	for _, m := range mentions {
		if m.Reader != nil && !slices.ContainsFunc(own, func(t *thread.Thread) bool { return m.same(t, main) }) {
			list = append(list, m.slice(main))
		}
	}
	return list
}

// slice returns the thread of a subagent whose records are in the transcript of main.
func (m *Mention) slice(main *thread.Thread) *thread.Thread {
	slice := *m.Reader
	slice.found = &Found{ID: m.ID, Path: main.Source, Whole: true}
	slice.inside, slice.known = true, m.Facts
	t := &thread.Thread{Provider: main.Provider, ID: m.ID, Source: main.Source, Parent: main.ID,
		Modified:  main.Modified,
		AgentName: m.Name, AgentRole: m.Role, Described: m.Described, Cwd: main.Cwd, Started: m.Started,
		Branch: main.Branch, Version: main.Version, Reader: &slice}
	if len(m.Lifecycle) > 0 && m.Span.Len == 0 && t.Started.IsZero() {
		t.Started = m.Lifecycle[0].Time
	}
	return t
}

// states returns the facts of subagents, as far as their states need them.
func states(ctx context.Context, children []*thread.Thread) (map[*thread.Thread]thread.Facts, error) {
	list, errs := make([]thread.Facts, len(children)), make([]error, len(children))
	thread.Parallel(len(children), func(i int) {
		t := children[i]
		if r := t.Reader.(*Reader); r.FromTail && !t.Loaded() {
			list[i], errs[i] = r.State(ctx, t.Source)
			return
		}
		if !t.Loaded() {
			errs[i] = t.Load(ctx)
		}
		list[i] = t.Facts
	})
	facts := map[*thread.Thread]thread.Facts{}
	for i, t := range children {
		if errs[i] != nil {
			return nil, errs[i]
		}
		facts[t] = list[i]
	}
	return facts, nil
}

// agent combines the records of the parent and of the child. One of them may be
// missing.
func (p *Provider) agent(main *thread.Thread, m *Mention, child *thread.Thread, own thread.Facts) (a thread.Agent) {
	if m != nil {
		a = m.Agent
		a.Aliases, a.Evidence = slices.Clone(a.Aliases), slices.Clone(a.Evidence)
		a.Lifecycle = slices.Clone(a.Lifecycle)
	}
	if child == nil {
		a.Complete(main, thread.Facts{})
		return a
	}
	f := child.Reader.(*Reader).found
	for _, alias := range []string{a.ID, f.Alias} {
		if alias != "" && alias != child.ID && !slices.Contains(a.Aliases, alias) {
			a.Aliases = append(a.Aliases, alias)
		}
	}
	if f.Parent == main.ID || p.Deep {
		a.Evidence = append(a.Evidence, f.Proof...)
	}
	if p.Relate != nil {
		p.Relate(main, &a, child)
	}
	if len(a.Lifecycle) == 0 {
		a.AddEvent(child.Started, "start", "from the subagent's transcript; the parent's does not mention it")
	}
	a.Thread, a.Described = child, a.Described || (a.Name == "" && child.Described)
	a.Name, a.Role = cmp.Or(a.Name, child.AgentName), cmp.Or(a.Role, child.AgentRole)
	a.Complete(main, own)
	return a
}

// start returns the time at which an agent was started, if it is known.
func start(a thread.Agent) time.Time {
	if len(a.Lifecycle) > 0 && !a.Lifecycle[0].Time.IsZero() {
		return a.Lifecycle[0].Time
	}
	if a.Thread != nil {
		return a.Thread.Started
	}
	return time.Time{}
}
