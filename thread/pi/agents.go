package pi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A subagent is one that the parent's session mentions.
type subagent struct {
	thread.Agent
	file   string  // name of its file
	inline *inline // it has no file: the parent's session contains its messages
}

func (s *scanner) subagent(id string) *subagent {
	i := slices.IndexFunc(s.subagents, func(a *subagent) bool { return a.ID == id })
	if i < 0 {
		i = len(s.subagents)
		s.subagents = append(s.subagents, &subagent{
			Agent: thread.Agent{ID: id, Evidence: []string{"session header names it as a child"}}})
	}
	return s.subagents[i]
}

// ran reads what an extension records when a subagent ends: its session file and
// its exit code.
func (s *scanner) ran(path string, details jsonl.Value, at time.Time, line int) {
	a := s.subagent(idOf(path))
	a.file = path[strings.LastIndexAny(path, `/\`)+1:]
	a.Name = details.Get("name").Text()
	a.Evidence = []string{"parent session names its session file"}
	a.State = thread.ReadState(thread.Running, thread.Parent, at,
		"session file without an exit code, line %d of the parent's session", line)
	event := a.Name
	if code := details.Get("exitCode"); code.Kind() == jsonl.Number {
		status := thread.Completed
		if code.Int() != 0 {
			status = thread.Errored
		}
		a.State = thread.ReadState(status, thread.Parent, at, "exit code %d, line %d", code.Int(), line)
		event = strings.TrimSpace(fmt.Sprintf("%s exited with code %d", a.Name, code.Int()))
	}
	a.AddEvent(at, "subagent", event)
}

// Agents implements thread.Provider. A subagent is a session in the directory of
// the parent's, one in the same project that names the parent, or one that the
// parent names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	mentioned := slices.DeleteFunc(slices.Clone(r.subagents), func(a *subagent) bool { return a.ID == main.ID })
	children, err := p.children(ctx, main, r.session, mentioned)
	if err != nil {
		return nil, err
	}
	same := func(a *subagent, t *thread.Thread) bool { return a.is(t.Reader.(*reader).session) }
	return thread.Join(mentioned, children, same, func(a *subagent, child *thread.Thread) (thread.Agent, error) {
		return agent(ctx, main, a, child)
	})
}

// is reports whether s is the session of a.
func (a *subagent) is(s session) bool {
	return a.inline == nil && (a.ID == s.id() || a.ID == idOf(s.name) || a.file != "" && a.file == s.name)
}

// children opens the sessions of main's subagents, in the order they were started.
func (p *provider) children(ctx context.Context, main *thread.Thread, at session,
	mentioned []*subagent) ([]*thread.Thread, error) {
	t := newTree(ctx)
	found := slices.DeleteFunc(t.descend(at, maxDepth), func(s session) bool { return s.owner != main.ID })
	beside, _ := t.folder(at.dir)
	during := thread.StartedDuring(at.path(), at.started(), second)
	for _, s := range beside {
		is := func(a *subagent) bool { return a.is(s) }
		if s.name == at.name || !during(s.started()) && !slices.ContainsFunc(mentioned, is) {
			continue
		}
		if s.head = t.head(s); s.parent() == main.ID || slices.ContainsFunc(mentioned, is) {
			found = append(found, s)
		}
	}
	for _, a := range mentioned {
		if a.inline == nil && !slices.ContainsFunc(found, a.is) {
			found = append(found, p.findByName(t, a)...)
		}
	}
	if err := t.Err(at.path()); err != nil {
		return nil, err
	}
	return thread.Children(main, found, session.id, func(copies []session) (*thread.Thread, error) {
		return p.open(copies[:1])
	})
}

// findByName finds a subagent of another project by its file name.
func (p *provider) findByName(t tree, a *subagent) []session {
	files, _ := p.all(t)
	i := slices.IndexFunc(files, a.is)
	if i < 0 {
		return nil
	}
	files[i].head = t.head(files[i])
	return files[i : i+1]
}

// agent combines the records of the parent and of the child. One of them may be
// missing.
func agent(ctx context.Context, main *thread.Thread, mention *subagent, child *thread.Thread) (a thread.Agent,
	err error) {
	if mention != nil {
		a = mention.Agent
		a.Evidence = slices.Clone(a.Evidence)
		if mention.inline != nil {
			a.Thread = mention.inline.thread(main, a.ID, a.Name)
			err = a.Thread.Load(ctx)
			a.Complete(main, a.Thread.Facts)
			return a, err
		}
	}
	if child == nil {
		a.Complete(main, thread.Facts{})
		return a, nil
	}
	of := child.Reader.(*reader).session
	if of.head.parent == main.ID {
		a.Evidence = append(a.Evidence, "child session header names main thread as its parent")
	}
	if of.owner == main.ID {
		a.Evidence = append(a.Evidence, "child session is in the directory named after main thread")
		a.Aliases = append(a.Aliases, of.stem())
	}
	if len(a.Evidence) == 0 && of.parent() == main.ID {
		a.Evidence = append(a.Evidence, "child session is a run of main thread, by its name and header")
	}
	if mention != nil && mention.ID != child.ID {
		a.Aliases = append(a.Aliases, mention.ID)
	}
	a.Thread, err = child, child.Load(ctx)
	a.Complete(main, child.Facts)
	return a, err
}
