package pi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A sighting is what a parent's session says of a subagent.
type sighting struct {
	id       string // of its session, as the parent's says
	file     string // the name of its file
	name     string
	evidence string
	state    thread.State
	events   []thread.Event
}

func (s *scanner) sight(id string) *sighting {
	i := slices.IndexFunc(s.agents, func(a *sighting) bool { return a.id == id })
	if i < 0 {
		i = len(s.agents)
		s.agents = append(s.agents, &sighting{id: id, evidence: "session header names it as a child"})
	}
	return s.agents[i]
}

// ran notes what an extension says at the end of a subagent: where its session
// lies, and how it exited.
func (s *scanner) ran(path string, holder jsonl.Value, at time.Time, line int) {
	details := holder.Get("details")
	a := s.sight(idOf(path))
	a.file = path[strings.LastIndexAny(path, `/\`)+1:]
	a.name = details.Get("name").Text()
	a.evidence = "parent session names its session file"
	a.state = thread.State{Status: thread.Running, Source: thread.Parent, At: at, Evidence: fmt.Sprintf("the parent has its session file and no exit code, line %d", line)}
	event := thread.Event{Time: at, Name: "subagent", Detail: a.name}
	if code := details.Get("exitCode"); code.Kind() == jsonl.Number {
		a.state.Status, a.state.Evidence = thread.Completed, fmt.Sprintf("exit code 0, line %d", line)
		if n := code.Int(); n != 0 {
			a.state.Status, a.state.Evidence = thread.Errored, fmt.Sprintf("exit code %d, line %d", n, line)
		}
		event.Detail = strings.TrimSpace(a.name + " exited with code " + fmt.Sprint(code.Int()))
	}
	a.events = append(a.events, event)
}

// Agents implements thread.Provider. A subagent is a session in the folder of
// the parent's, one in the same project that names the parent, or one that the
// parent names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReadBy[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	said := slices.DeleteFunc(slices.Clone(r.seen), func(s *sighting) bool { return s.id == main.ID })
	children, err := p.children(ctx, main, r.session, said)
	if err != nil {
		return nil, err
	}
	is := func(s *sighting, t *thread.Thread) bool { return s.is(t.Reader.(*reader).session) }
	return thread.Join(said, children, is, func(s *sighting, child *thread.Thread) (thread.Agent, error) {
		return agent(ctx, main, s, child)
	})
}

// is reports whether s is the subagent's session.
func (a *sighting) is(s session) bool {
	return a.id == s.id() || a.id == idOf(s.name) || a.file != "" && a.file == s.name
}

// children opens the sessions of main's subagents, in the order they were begun.
func (p *provider) children(ctx context.Context, main *thread.Thread, at session, said []*sighting) ([]*thread.Thread, error) {
	t := newTree(ctx)
	found := slices.DeleteFunc(t.below(at), func(s session) bool { return s.owner != main.ID })
	beside, _ := t.folder(at.dir)
	meanwhile := thread.Meanwhile(at.path(), at.begun(), second)
	for _, s := range beside {
		is := func(a *sighting) bool { return a.is(s) }
		if s.name == at.name || !meanwhile(s.begun()) && !slices.ContainsFunc(said, is) {
			continue
		}
		if s.head = t.head(s); s.parent() == main.ID || slices.ContainsFunc(said, is) {
			found = append(found, s)
		}
	}
	for _, a := range said {
		if !slices.ContainsFunc(found, a.is) {
			found = append(found, p.elsewhere(t, a)...)
		}
	}
	if err := t.Err(at.path()); err != nil {
		return nil, err
	}
	var list []*thread.Thread
	for _, copies := range thread.Copies(found, session.id) {
		if copies[0].id() == main.ID {
			continue
		}
		child, err := p.open(copies[:1])
		if errors.Is(err, handoff.NotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	slices.SortStableFunc(list, thread.ByStart)
	return list, nil
}

// elsewhere finds a subagent that was run in another directory, by its name.
func (p *provider) elsewhere(t tree, a *sighting) []session {
	files, _ := p.all(t)
	i := slices.IndexFunc(files, a.is)
	if i < 0 {
		return nil
	}
	files[i].head = t.head(files[i])
	return files[i : i+1]
}

// agent puts together what parent and child say; one of the two may be missing.
func agent(ctx context.Context, main *thread.Thread, s *sighting, child *thread.Thread) (a thread.Agent, err error) {
	if s != nil {
		a = thread.Agent{ID: s.id, Name: s.name, State: s.state, Lifecycle: s.events, Evidence: []string{s.evidence}}
	}
	if child == nil {
		a.Settle(main, thread.Facts{})
		return a, nil
	}
	of := child.Reader.(*reader).session
	if of.head.parent == main.ID {
		a.Evidence = append(a.Evidence, "child session header names main thread as its parent")
	}
	if of.owner == main.ID {
		a.Evidence = append(a.Evidence, "child session lies in the folder named after main thread's")
		a.Aliases = append(a.Aliases, of.stem())
	}
	if len(a.Evidence) == 0 && of.parent() == main.ID {
		a.Evidence = append(a.Evidence, "child session is a run of main thread, as its name and header say")
	}
	if s != nil && s.id != child.ID {
		a.Aliases = append(a.Aliases, s.id)
	}
	a.Thread, err = child, child.Load(ctx)
	a.Settle(main, child.Facts)
	return a, err
}
