package claude

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Agents implements thread.Provider. For a session these are the subagents at all
// levels, because the tool keeps them in one directory; Thread.Parent is the one
// that spawned each. For a subagent these are the ones it spawned itself.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*transcript](ctx, main)
	if err != nil {
		return nil, err
	}
	j := &family{p: p, main: main, mentioned: r.subagents}
	if r.only == "" {
		if err := j.gather(ctx, r); err != nil {
			return nil, err
		}
		if err := j.readParts(ctx, r); err != nil {
			return nil, err
		}
	}
	var agents []thread.Agent
	add := func(s *subagent, child *thread.Thread) error {
		a, err := j.agent(ctx, s, child)
		if err == nil {
			agents = append(agents, a)
		}
		return err
	}
	for _, s := range r.subagents.tasks {
		child := j.take(s.ID)
		if j.copies[s.ID] {
			child = j.inside(r, s)
		}
		if !s.spawned && child == nil {
			continue // a background command
		}
		if err := add(s, child); err != nil {
			return nil, err
		}
	}
	for _, s := range r.subagents.inner {
		known := j.byPrompt(*s)
		if err := add(&known, j.inside(r, &known)); err != nil {
			return nil, err
		}
	}
	for _, child := range j.children {
		if j.taken[child.ID] {
			continue
		}
		if err := add(j.unnamed(child), child); err != nil {
			return nil, err
		}
	}
	order.Sort(agents, func(a, b thread.Agent) int { return start(a).Compare(start(b)) })
	return agents, nil
}

// A family combines the records of a thread and of its subagents.
type family struct {
	p         *provider
	main      *thread.Thread
	mentioned *subagents
	children  []*thread.Thread      // the transcripts of subagents, by start
	taken     map[string]bool       // the IDs of those that the thread mentions
	spawner   map[string]*subagents // of subagents that another subagent spawned
	byPrompts map[uint64][]*call    // calls whose subagent is not known, by their prompt
	copies    map[string]bool       // subagents without a transcript, of which the thread has copies of records
	chains    map[string]thread.Facts
}

// readParts reads the records of subagents in the transcript of their session.
func (j *family) readParts(ctx context.Context, r *transcript) (err error) {
	j.copies = map[string]bool{}
	for _, s := range j.mentioned.tasks {
		if s.spawned && s.copied && !slices.ContainsFunc(j.children, func(t *thread.Thread) bool { return t.ID == s.ID }) {
			j.copies[s.ID] = true
		}
	}
	if len(j.copies)+len(j.mentioned.inner) > 0 {
		j.chains, err = r.chains(ctx, j.copies)
	}
	return err
}

// gather finds the transcripts of the subagents: those in the session's directory of
// any project, because a session that is continued in another directory moves without
// them, and those beside the session that name it.
func (j *family) gather(ctx context.Context, r *transcript) error {
	dir, session := filepath.Dir(r.file.path), r.file.id
	if r.file.agent {
		if session = r.file.session; session == "" {
			return nil // in these versions, subagents have no subagents
		}
		for filepath.Base(dir) != session && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		dir = filepath.Dir(dir)
	}
	tree := newTree(ctx)
	files, err := j.p.nested(ctx, tree, dir, session)
	if err != nil {
		j.main.Warn("subagents may be missing: %v", err)
	}
	if !r.file.agent {
		files = append(files, tree.beside(dir)...)
	}
	if err := tree.Err(dir); err != nil {
		j.main.Warn("subagents may be missing: %v", err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.path == r.file.path || r.file.agent && !j.mentioned.spawnedBy(f.id) {
			continue
		}
		t, err := j.p.openFile(f)
		if err != nil {
			return err
		}
		t.ID = cmp.Or(t.Reader.(*transcript).meta.agent, t.ID)
		if t.Parent == session || j.mentioned.spawnedBy(t.ID) {
			j.children = append(j.children, t)
		}
	}
	order.Sort(j.children, thread.CompareStart)
	if r.file.agent {
		for _, t := range j.children {
			t.Parent = r.file.id
		}
		return nil
	}
	return j.findSpawners(ctx)
}

// findSpawners finds the parents of subagents that the session did not spawn. It reads
// each transcript once.
func (j *family) findSpawners(ctx context.Context) error {
	unknown := map[string]*thread.Thread{}
	for _, t := range j.children {
		if !j.mentioned.spawnedBy(t.ID) && t.Reader.(*transcript).mayBeDeeper() {
			unknown[t.ID] = t
		}
	}
	j.spawner = map[string]*subagents{}
	for _, other := range j.children {
		if len(unknown) == 0 {
			break
		}
		o := other.Reader.(*transcript)
		if o.subagents == nil {
			if err := other.Load(ctx); err != nil {
				return err
			}
		}
		for _, s := range o.subagents.tasks {
			t := unknown[s.ID]
			if t != nil && s.spawned && t != other {
				t.Parent, j.spawner[t.ID] = other.ID, o.subagents
				delete(unknown, t.ID)
			}
		}
		if len(o.subagents.tasks) == 0 && len(o.subagents.spawns) == 0 {
			o.subagents = &subagents{} // of ten thousand subagents, few have any
		}
	}
	return ctx.Err()
}

// mayBeDeeper reports whether another subagent may have spawned a subagent.
func (r *transcript) mayBeDeeper() bool {
	return r.file.session != "" && r.meta.depth != 1 && !strings.HasPrefix(r.file.id, "acompact-")
}

// findParent sets the parent of a subagent to the subagent that spawned it, if
// there is one.
func (r *transcript) findParent(ctx context.Context, t *thread.Thread) error {
	if !r.mayBeDeeper() {
		return nil
	}
	dir := r.file.path
	for filepath.Base(dir) != agentDir {
		dir = filepath.Dir(dir)
	}
	for _, f := range newTree(ctx).descend(dir, r.file.session, maxDepth) {
		o := &transcript{p: r.p, file: f}
		if f.path == r.file.path || !mentions(ctx, f.path, r.file.id) {
			continue
		}
		if _, err := o.Read(ctx, thread.Summary, nil); err != nil {
			return err
		}
		if o.subagents.spawnedBy(r.file.id) {
			t.Parent = f.id
			return nil
		}
	}
	return ctx.Err()
}

// take returns the transcript of a subagent that the thread mentions, nil if there is
// none or it was taken before.
func (j *family) take(id string) *thread.Thread {
	if j.taken == nil {
		j.taken = map[string]bool{}
	}
	i := slices.IndexFunc(j.children, func(t *thread.Thread) bool { return t.ID == id })
	if i < 0 || j.taken[id] {
		return nil
	}
	j.taken[id] = true
	return j.children[i]
}

// inside returns the thread of a subagent whose records are in the session's own
// transcript.
func (j *family) inside(r *transcript, s *subagent) *thread.Thread {
	m, part := j.main, r.partOf(s.ID, j.copies[s.ID])
	if facts, ok := j.chains[s.ID]; ok {
		part.read = &facts
	}
	return &thread.Thread{
		Provider: m.Provider, ID: s.ID, Source: m.Source, Modified: m.Modified, Started: s.started, Parent: m.ID,
		Cwd: m.Cwd, Branch: m.Branch, Version: m.Version, AgentName: s.Name, AgentRole: s.Role, Described: s.Described,
		Reader: part,
	}
}

// unnamed returns the mention of a subagent that the session does not name: the
// one in another subagent's transcript, or the call with its prompt.
func (j *family) unnamed(t *thread.Thread) *subagent {
	if l := j.spawner[t.ID]; l != nil {
		return l.byID[t.ID]
	}
	s := j.byPrompt(subagent{Agent: thread.Agent{ID: t.ID}, prompt: t.Reader.(*transcript).meta.prompt})
	return &s
}

// byPrompt finds the call with the prompt of a subagent. While a subagent is
// running, and always in old versions, nothing else connects the two.
func (j *family) byPrompt(s subagent) subagent {
	if j.byPrompts == nil {
		j.byPrompts = map[uint64][]*call{}
		for _, o := range j.mentioned.spawns {
			if o.agent == "" {
				j.byPrompts[o.prompt] = append(j.byPrompts[o.prompt], o)
			}
		}
	}
	if list := j.byPrompts[s.prompt]; len(list) > 0 {
		o := list[0]
		j.byPrompts[s.prompt] = list[1:]
		s.call, s.Name, s.Described, s.Role, s.State = o.id, o.title, o.described, o.role, o.state
		s.AddEvent(o.at, o.name, "subagent spawned")
		if s.State.Status == "" {
			s.State = parentState(thread.Running, o.name, o.at, o.line)
		} else {
			s.AddEvent(o.state.At, "tool_result", "status "+string(o.state.Status))
		}
	}
	return s
}

// agent combines the records of the parent and of the child.
func (j *family) agent(ctx context.Context, s *subagent, child *thread.Thread) (thread.Agent, error) {
	a := s.Agent
	a.Thread = child
	switch {
	case s.spawned && j.mentioned.spawnedBy(s.ID):
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
		if a.Name != "" && (child.Described || child.AgentName == "") {
			child.AgentName, child.Described = a.Name, a.Described
		}
		child.AgentRole = cmp.Or(child.AgentRole, a.Role)
		a.Name, a.Role, a.Described = child.AgentName, child.AgentRole, child.Described
		r := child.Reader.(*transcript)
		r.relate(&a, j.main.Reader.(*transcript).file)
		var err error
		if facts, ok := j.chains[r.only]; ok && r.only != "" {
			own = facts
		} else if own, err = r.state(ctx); err != nil {
			return a, err
		}
	}
	a.Complete(j.main, own)
	return a, nil
}

// relate adds what proves or contradicts that a transcript is of a subagent of
// session: the members isSidechain and sessionId of its first record.
func (r *transcript) relate(a *thread.Agent, session file) {
	named := r.meta.session
	matches := named == session.id || named == session.session && session.agent
	switch {
	case r.only != "":
		a.Evidence = append(a.Evidence, "its records are in the transcript of the main thread")
		return
	case r.meta.sidechain && matches:
		a.Evidence = append(a.Evidence, "agent transcript is sidechain and sessionId matches main thread")
	}
	if r.meta.records && !r.meta.sidechain {
		a.Conflicts = append(a.Conflicts, "isSidechain is not true in the agent's transcript")
	}
	if r.meta.records && !matches && (named != prefix+r.file.id || a.Evidence == nil) { // some record their own name
		a.Conflicts = append(a.Conflicts, "sessionId in the agent's transcript is "+cmp.Or(named, "missing"))
	}
	if id := r.file.id; id != a.ID {
		a.Aliases = append(a.Aliases, id, prefix+id)
	}
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
