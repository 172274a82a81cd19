package claude

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. A session's subagents are all of its tree,
// for the tool keeps them in one place; whose each is, Thread.Parent says. A
// subagent's are those that it spawned itself.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReadBy[*transcript](ctx, main)
	if err != nil {
		return nil, err
	}
	j := &joint{p: p, main: main, seen: r.seen}
	if r.only == "" {
		if err := j.gather(ctx, r); err != nil {
			return nil, err
		}
	}
	var agents []thread.Agent
	add := func(s *sighting, child *thread.Thread) error {
		a, err := j.agent(ctx, s, child)
		if err == nil {
			agents = append(agents, a)
		}
		return err
	}
	for _, s := range r.seen.tasks {
		child := j.take(s.id)
		if !s.spawned && child == nil {
			continue // a command in the background
		}
		if err := add(s, child); err != nil {
			return nil, err
		}
	}
	for _, s := range r.seen.inner {
		known := j.prompted(*s)
		if err := add(&known, j.inside(r, &known)); err != nil {
			return nil, err
		}
	}
	for _, child := range j.children {
		if err := add(j.unnamed(child), child); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(agents, func(a, b thread.Agent) int { return begun(a).Compare(begun(b)) })
	return agents, nil
}

// A joint puts together what a thread and its subagents say of each other.
type joint struct {
	p        *provider
	main     *thread.Thread
	seen     *ledger
	children []*thread.Thread   // that are not yet spoken for
	spawner  map[string]*ledger // of those that another subagent spawned
	claimed  []*order           // calls that an agent was found for by its prompt
}

// gather finds the transcripts of the subagents: those in the session's folder,
// and those beside it that name it.
func (j *joint) gather(ctx context.Context, r *transcript) error {
	dir, session := filepath.Dir(r.file.path), r.file.id
	if r.file.agent {
		if session = r.file.session; session == "" {
			return nil // versions that keep subagents beside sessions have no deeper ones
		}
		for filepath.Base(dir) != session && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		dir = filepath.Dir(dir)
	}
	files := nested(dir, session)
	if !r.file.agent {
		files = append(files, beside(dir)...)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.path == r.file.path || r.file.agent && !j.seen.spawnedBy(f.id) {
			continue
		}
		t, err := j.p.openFile(f)
		if err != nil {
			return err
		}
		if t.Parent == session || j.seen.spawnedBy(f.id) {
			j.children = append(j.children, t)
		}
	}
	slices.SortFunc(j.children, thread.ByStart)
	if r.file.agent {
		for _, t := range j.children {
			t.Parent = r.file.id
		}
		return nil
	}
	return j.deeper(ctx)
}

func (l *ledger) spawnedBy(id string) bool {
	a := l.byID[id]
	return a != nil && a.spawned
}

// deeper finds the parents of subagents that the session did not spawn.
func (j *joint) deeper(ctx context.Context) error {
	j.spawner = map[string]*ledger{}
	for _, t := range j.children {
		r := t.Reader.(*transcript)
		if j.seen.spawnedBy(t.ID) || !r.mayBeDeeper() {
			continue
		}
		for _, other := range j.children {
			o := other.Reader.(*transcript)
			if other == t || !o.names(ctx, t.ID) {
				continue
			}
			if o.seen == nil {
				if err := other.Load(ctx); err != nil {
					return err
				}
			}
			if o.seen.spawnedBy(t.ID) {
				t.Parent, j.spawner[t.ID] = other.ID, o.seen
				break
			}
		}
	}
	return ctx.Err()
}

// mayBeDeeper reports whether a subagent may be that of another.
func (r *transcript) mayBeDeeper() bool {
	return r.file.session != "" && r.meta.depth != 1 && !strings.HasPrefix(r.file.id, "acompact-")
}

// findParent sets the parent of a subagent: the one that spawned it.
func (r *transcript) findParent(ctx context.Context, t *thread.Thread) error {
	if !r.mayBeDeeper() {
		return nil
	}
	dir := r.file.path
	for filepath.Base(dir) != subagents {
		dir = filepath.Dir(dir)
	}
	for _, f := range below(dir, r.file.session, maxDepth) {
		o := &transcript{p: r.p, file: f}
		if f.path == r.file.path || !o.names(ctx, r.file.id) {
			continue
		}
		if _, err := o.Read(ctx, thread.Summary, nil); err != nil {
			return err
		}
		if o.seen.spawnedBy(r.file.id) {
			t.Parent = f.id
			return nil
		}
	}
	return ctx.Err()
}

// names reports whether a transcript speaks of an agent.
func (r *transcript) names(ctx context.Context, id string) bool {
	src, err := thread.OpenFile(r.file.path)
	if err != nil {
		return false
	}
	defer src.Close()
	rd := jsonl.NewReader(src)
	for rd.Next() && ctx.Err() == nil {
		if bytes.Contains(rd.Line(), []byte(id)) {
			return true
		}
	}
	return false
}

// take returns the transcript of a subagent, once.
func (j *joint) take(id string) *thread.Thread {
	i := slices.IndexFunc(j.children, func(t *thread.Thread) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	t := j.children[i]
	j.children = slices.Delete(j.children, i, i+1)
	return t
}

// inside makes a thread of a subagent whose records are in the session's own
// transcript.
func (j *joint) inside(r *transcript, s *sighting) *thread.Thread {
	m := j.main
	return &thread.Thread{
		Provider: m.Provider, ID: s.id, Source: m.Source, Updated: m.Updated, Started: s.begun, Parent: m.ID,
		Cwd: m.Cwd, Branch: m.Branch, Version: m.Version, AgentName: s.name, AgentRole: s.role,
		Reader: &transcript{p: r.p, file: r.file, meta: r.meta, only: s.id},
	}
}

// unnamed returns what is known of a subagent that the session does not name:
// what another subagent says, or the call with its prompt.
func (j *joint) unnamed(t *thread.Thread) *sighting {
	if l := j.spawner[t.ID]; l != nil {
		return l.byID[t.ID]
	}
	s := j.prompted(sighting{id: t.ID, prompt: t.Reader.(*transcript).meta.prompt})
	return &s
}

// prompted finds the call whose prompt a subagent began with. While an agent is
// at work, and in old versions ever after, nothing else tells which it was.
func (j *joint) prompted(s sighting) sighting {
	for _, o := range j.seen.spawns {
		if o.agent != "" || o.prompt != s.prompt || slices.Contains(j.claimed, o) {
			continue
		}
		j.claimed = append(j.claimed, o)
		s.call, s.name, s.role, s.state = o.call, o.title, o.role, o.state
		s.event(o.at, o.name, "subagent spawned")
		if s.state.Status == "" {
			s.state = told(thread.Running, o.name, o.at, o.line)
		} else {
			s.event(o.state.At, "tool_result", "status "+string(o.state.Status))
		}
		break
	}
	return s
}

// agent puts together what parent and child say.
func (j *joint) agent(ctx context.Context, s *sighting, child *thread.Thread) (thread.Agent, error) {
	a := thread.Agent{ID: s.id, Name: s.name, Role: s.role, State: s.state, Lifecycle: s.events, Thread: child}
	switch {
	case s.spawned && j.seen.spawnedBy(s.id):
		a.Evidence = append(a.Evidence, "parent transcript contains the result of the call that spawned it")
	case s.spawned && child != nil:
		a.Evidence = append(a.Evidence, "agent "+child.Parent+" of the same session spawned it")
	case s.call != "":
		a.Evidence = append(a.Evidence, "parent transcript contains a call with its prompt")
	}
	a.Aliases = append(a.Aliases, prefix+a.ID)
	if s.call != "" {
		a.Aliases = append(a.Aliases, s.call)
	}
	var own thread.Facts
	if child != nil {
		child.AgentName, child.AgentRole = cmp.Or(a.Name, child.AgentName), cmp.Or(child.AgentRole, a.Role)
		a.Name, a.Role = child.AgentName, child.AgentRole
		r := child.Reader.(*transcript)
		if seen := r.proof(j.main.Reader.(*transcript).file); seen != "" {
			a.Evidence = append(a.Evidence, seen)
		}
		var err error
		if own, err = r.state(ctx); err != nil {
			return a, err
		}
	}
	a.Settle(j.main, own)
	return a, nil
}

// proof says what makes a transcript that of a subagent of session.
func (r *transcript) proof(session file) string {
	switch {
	case r.only != "":
		return "its records are in the transcript of the main thread"
	case r.meta.session == session.id || r.meta.session == session.session && session.agent:
		return "agent transcript is sidechain and sessionId matches main thread"
	case r.file.session != "":
		return "agent transcript lies in the folder of the session"
	}
	return ""
}

// begun is when an agent was begun, as far as anything tells.
func begun(a thread.Agent) time.Time {
	if len(a.Lifecycle) > 0 && !a.Lifecycle[0].Time.IsZero() {
		return a.Lifecycle[0].Time
	}
	if a.Thread != nil {
		return a.Thread.Started
	}
	return time.Time{}
}
