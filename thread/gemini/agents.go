package gemini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A sighting is what a parent's chat says of a subagent: the call that ran it.
type sighting struct {
	id, name string
	state    thread.State
	events   []thread.Event
}

// calls counts calls, and notes those that ran a subagent.
func (l *log) calls(v jsonl.Value, line int, at time.Time) (n int) {
	for c := v.Elements(); c.Next(); n++ {
		id := c.Value().Get("agentId").Text()
		if id == "" {
			continue
		}
		i := slices.IndexFunc(l.agents, func(s *sighting) bool { return s.id == id })
		if i < 0 {
			i = len(l.agents)
			l.agents = append(l.agents, &sighting{id: id})
		}
		l.agents[i].ran(c.Value(), line, at)
	}
	return n
}

func (s *sighting) ran(v jsonl.Value, line int, at time.Time) {
	status := string(v.Get("status").Raw())
	s.name = v.Get("name").Text()
	s.state = thread.State{Status: thread.Running, Source: thread.Parent, At: clock(v.Get("timestamp"))}
	if s.state.At.IsZero() {
		s.state.At = at
	}
	switch status {
	case "success":
		s.state.Status = thread.Completed
	case "error", "cancelled":
		s.state.Status = thread.Errored
	}
	s.state.Evidence = fmt.Sprintf("the parent's call of %s is %q, line %d", s.name, status, line)
	event := thread.Event{Time: s.state.At, Name: "run_" + s.name, Detail: status}
	if n := len(s.events); n > 0 && s.events[n-1] == event {
		return // the message was written again
	}
	s.events = append(s.events, event)
}

// Agents implements thread.Provider. A subagent is a chat in the folder that is
// named after the parent, one that names the parent, or one that a call of the
// parent names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, ok := main.Reader.(*reader)
	if !ok {
		return nil, errors.New("the thread is of another provider")
	}
	if r.seen == nil {
		if err := main.Load(ctx); err != nil {
			return nil, err
		}
	}
	t := &tree{ctx: ctx}
	children, err := p.children(t, main, r.chat)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.errs...); err != nil {
		return nil, unreadable(r.chat.chats, err)
	}
	var agents []thread.Agent
	for _, s := range r.seen.agents {
		if s.id == main.ID {
			continue
		}
		var child *thread.Thread
		if i := slices.IndexFunc(children, s.is); i >= 0 {
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

// is reports whether t is the subagent.
func (s *sighting) is(t *thread.Thread) bool {
	return t.ID == s.id || t.Reader.(*reader).chat.stem == safe(s.id)
}

// children opens the chats of main's subagents, in the order they were begun.
func (p *provider) children(t *tree, main *thread.Thread, at chat) ([]*thread.Thread, error) {
	found, _ := t.chats(at.chats, safe(main.ID))
	for i := range found {
		found[i].head = t.head(found[i])
	}
	flat, _ := t.chats(at.chats, "")
	for _, c := range flat {
		if c.head = t.head(c); c.head.parent == main.ID {
			found = append(found, c)
		}
	}
	byID := map[string][]chat{}
	for _, c := range found {
		if c.id() != main.ID {
			byID[c.id()] = append(byID[c.id()], c)
		}
	}
	var list []*thread.Thread
	for _, copies := range byID {
		child, err := p.open(copies)
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	slices.SortFunc(list, func(a, b *thread.Thread) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// agent puts together what parent and child say.
func agent(ctx context.Context, main *thread.Thread, s sighting, child *thread.Thread) (thread.Agent, error) {
	a := thread.Agent{ID: s.id, Name: s.name, State: s.state, Lifecycle: s.events, Thread: child}
	if s.id != "" {
		a.Evidence = append(a.Evidence, "a call of the parent names it")
	}
	if child != nil {
		a.ID = child.ID
		c := child.Reader.(*reader).chat
		if c.head.parent == main.ID {
			a.Evidence = append(a.Evidence, "child chat payload includes explicit parent session reference")
		}
		if c.folder == safe(main.ID) {
			a.Evidence = append(a.Evidence, "child chat lies in the folder named after main thread")
		}
		if err := child.Load(ctx); err != nil {
			return a, err
		}
		a.State = thread.Newest(s.state, child.State)
		if a.Updated = child.Last; a.Updated.IsZero() {
			a.Updated = child.Updated
		}
		if len(a.Lifecycle) == 0 {
			a.Lifecycle = []thread.Event{{Time: child.Started, Name: "start_chat", Detail: "as the child's chat says; the parent's does not mention it"}}
		}
	}
	a.Validated = len(a.Evidence) > 0
	if a.Name != "" {
		a.Aliases = append(a.Aliases, a.Name)
	}
	a.URI = main.URI().Child(a.ID)
	return a, nil
}
