package gemini

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
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
	s.state = thread.State{Status: thread.Running, Source: thread.Parent, At: v.Get("timestamp").Time()}
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
	r, err := thread.ReadBy[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	children, err := p.children(ctx, main, r.chat)
	if err != nil {
		return nil, err
	}
	said := slices.DeleteFunc(slices.Clone(r.seen.agents), func(s *sighting) bool { return s.id == main.ID })
	return thread.Join(said, children, (*sighting).is, func(s *sighting, child *thread.Thread) (thread.Agent, error) {
		return agent(ctx, main, s, child)
	})
}

// is reports whether t is the subagent.
func (s *sighting) is(t *thread.Thread) bool {
	return t.ID == s.id || t.Reader.(*reader).chat.stem == safe(s.id)
}

// children opens the chats of main's subagents, in the order they were begun.
func (p *provider) children(ctx context.Context, main *thread.Thread, at chat) ([]*thread.Thread, error) {
	t := newTree(ctx)
	found, _ := t.chats(at.chats, safe(main.ID))
	for i := range found {
		found[i].head = t.head(found[i])
	}
	beside, _ := t.chats(at.chats, "")
	meanwhile := thread.Meanwhile(at.path(), at.begun(), minute)
	for _, c := range beside {
		if !meanwhile(c.begun()) {
			continue
		}
		if c.head = t.head(c); c.head.parent == main.ID {
			found = append(found, c)
		}
	}
	if err := t.Err(at.chats); err != nil {
		return nil, err
	}
	var list []*thread.Thread
	for _, copies := range thread.Copies(found, chat.id) {
		if copies[0].id() == main.ID {
			continue
		}
		child, err := p.open(copies)
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	slices.SortFunc(list, thread.ByStart)
	return list, nil
}

// agent puts together what parent and child say; one of the two may be missing.
func agent(ctx context.Context, main *thread.Thread, s *sighting, child *thread.Thread) (a thread.Agent, err error) {
	if s != nil {
		a = thread.Agent{ID: s.id, Name: s.name, State: s.state, Lifecycle: s.events, Evidence: []string{"a call of the parent names it"}}
	}
	if child == nil {
		a.Settle(main, thread.Facts{})
		return a, nil
	}
	c := child.Reader.(*reader).chat
	if c.head.parent == main.ID {
		a.Evidence = append(a.Evidence, "child chat payload includes explicit parent session reference")
	}
	if c.folder == safe(main.ID) {
		a.Evidence = append(a.Evidence, "child chat lies in the folder named after main thread")
	}
	if len(a.Lifecycle) == 0 {
		a.Lifecycle = []thread.Event{{Time: child.Started, Name: "start_chat", Detail: "as the child's chat says; the parent's does not mention it"}}
	}
	a.Thread, err = child, child.Load(ctx)
	a.Settle(main, child.Facts)
	return a, err
}
