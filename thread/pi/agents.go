package pi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/jsonl"
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
func (s *scanner) ran(path string, holder jsonl.Value, at time.Time) {
	details := holder.Get("details")
	a := s.sight(idOf(path))
	a.file = path[strings.LastIndexAny(path, `/\`)+1:]
	a.name = details.Get("name").Text()
	a.evidence = "parent session names its session file"
	a.state = thread.State{Status: thread.Running, Source: thread.Parent, At: at, Evidence: fmt.Sprintf("the parent has its session file and no exit code, line %d", s.n)}
	event := thread.Event{Time: at, Name: "subagent", Detail: a.name}
	if code := details.Get("exitCode"); code.Kind() == jsonl.Number {
		a.state.Status, a.state.Evidence = thread.Completed, fmt.Sprintf("exit code 0, line %d", s.n)
		if n := code.Int(); n != 0 {
			a.state.Status, a.state.Evidence = thread.Errored, fmt.Sprintf("exit code %d, line %d", n, s.n)
		}
		event.Detail = strings.TrimSpace(a.name + " exited with code " + fmt.Sprint(code.Int()))
	}
	a.events = append(a.events, event)
}

// Agents implements thread.Provider. A subagent is a session in the folder of
// the parent's, one in the same project that names the parent, or one that the
// parent names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, ok := main.Reader.(*reader)
	if !ok {
		return nil, errors.New("the thread is of another provider")
	}
	if !r.read {
		if err := main.Load(ctx); err != nil {
			return nil, err
		}
	}
	t := &tree{ctx: ctx}
	children, err := p.children(t, main, r)
	if err == nil {
		err = errors.Join(t.errs...)
	}
	if err != nil {
		return nil, unreadable(r.session.path, err)
	}
	var agents []thread.Agent
	add := func(s sighting, child *thread.Thread) error {
		a, err := agent(ctx, main, s, child)
		agents = append(agents, a)
		return err
	}
	for _, s := range r.seen {
		if s.id == main.ID {
			continue
		}
		var child *thread.Thread
		if i := slices.IndexFunc(children, s.is); i >= 0 {
			child = children[i]
			children = slices.Delete(children, i, i+1)
		}
		if err := add(*s, child); err != nil {
			return nil, err
		}
	}
	for _, child := range children {
		if err := add(sighting{}, child); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// is reports whether t is the subagent.
func (s *sighting) is(t *thread.Thread) bool {
	return t.ID == s.id || s.file != "" && filepath.Base(t.Source) == s.file
}

// children opens the sessions of main's subagents, in the order they were begun.
func (p *provider) children(t *tree, main *thread.Thread, r *reader) ([]*thread.Thread, error) {
	found := t.below(r.session)
	found = slices.DeleteFunc(found, func(s session) bool { return s.owner != main.ID })
	near, _ := t.folder(filepath.Dir(r.session.path))
	for _, s := range near {
		if s.path == r.session.path {
			continue
		}
		s.head = t.head(s)
		named := slices.ContainsFunc(r.seen, func(a *sighting) bool {
			return a.id == s.id() || a.file != "" && a.file == filepath.Base(s.path)
		})
		if named || s.parent() == main.ID {
			found = append(found, s)
		}
	}
	for _, a := range r.seen {
		if !slices.ContainsFunc(found, func(s session) bool { return s.id() == a.id || filepath.Base(s.path) == a.file }) {
			found = append(found, p.elsewhere(t, a)...)
		}
	}
	var list []*thread.Thread
	for _, s := range found {
		if s.id() == main.ID || slices.ContainsFunc(list, func(o *thread.Thread) bool { return o.ID == s.id() }) {
			continue
		}
		child, err := p.open([]session{s})
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	slices.SortStableFunc(list, func(a, b *thread.Thread) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// elsewhere finds a subagent that was run in another directory, by its name.
func (p *provider) elsewhere(t *tree, a *sighting) []session {
	files, _ := p.all(t)
	for _, s := range files {
		if idOf(s.path) == a.id || a.file != "" && filepath.Base(s.path) == a.file {
			s.head = t.head(s)
			return []session{s}
		}
	}
	return nil
}

// agent puts together what parent and child say.
func agent(ctx context.Context, main *thread.Thread, s sighting, child *thread.Thread) (thread.Agent, error) {
	a := thread.Agent{ID: s.id, Name: s.name, State: s.state, Lifecycle: s.events, Thread: child}
	if s.evidence != "" {
		a.Evidence = append(a.Evidence, s.evidence)
	}
	if child != nil {
		of := child.Reader.(*reader).session
		a.ID = child.ID
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
		if err := child.Load(ctx); err != nil {
			return a, err
		}
		a.State = thread.Newest(s.state, child.State)
		if a.Updated = child.Last; a.Updated.IsZero() {
			a.Updated = child.Updated
		}
		if s.id != a.ID && s.id != "" {
			a.Aliases = append(a.Aliases, s.id)
		}
	}
	if a.State.Status == "" {
		a.State = thread.State{Status: thread.NotFound, Source: thread.Inferred, Evidence: "the parent's session names it, and its own is not here"}
	}
	a.Validated = len(a.Evidence) > 0
	if a.Name != "" {
		a.Aliases = append(a.Aliases, a.Name)
	}
	a.URI = main.URI().Child(a.ID)
	return a, nil
}
