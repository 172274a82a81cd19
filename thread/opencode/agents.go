package opencode

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A sighting is what a thread says of one of its subagents.
type sighting struct {
	id     string
	role   string
	state  thread.State
	events []thread.Event
}

// A ledger keeps the sightings in order.
type ledger struct{ agents []*sighting }

var taskID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`task_id: (ses_[0-9A-Za-z]+)`) })

// child returns the subagent that a call of task is about, "" if it is none or
// was not begun.
func child(p jsonl.Value) string {
	if !p.Get("tool").Is("task") {
		return ""
	}
	state := p.Get("state")
	if id := state.Get("metadata", "sessionId").Text(); id != "" {
		return id
	}
	if m := taskID().FindStringSubmatch(state.Get("output").Text()); m != nil {
		return m[1]
	}
	return state.Get("input", "task_id").Text()
}

// called follows a call of task, by which a subagent is begun or resumed. It
// ends when the subagent's turn does.
func (l *ledger) called(p jsonl.Value, call thread.Call) {
	if call.Agent == "" {
		return
	}
	i := slices.IndexFunc(l.agents, func(s *sighting) bool { return s.id == call.Agent })
	if i < 0 {
		i = len(l.agents)
		l.agents = append(l.agents, &sighting{id: call.Agent})
	}
	s := l.agents[i]
	state := p.Get("state")
	s.role = or(state.Get("input", "subagent_type").Text(), s.role)
	s.events = append(s.events, thread.Event{Time: call.Time, Name: "task", Detail: or(state.Get("input", "description").Text(), state.Get("title").Text())})
	end := clock(state.Get("time", "end").Int())
	set := func(status thread.Status, why string) {
		s.state = thread.State{Status: status, Source: thread.Parent, Evidence: why + ", call " + call.ID, At: end}
		s.events = append(s.events, thread.Event{Time: end, Name: "task_" + string(status), Detail: state.Get("error").Text()})
	}
	switch status := state.Get("status").Raw(); string(status) {
	case "completed":
		set(thread.Completed, "task completed")
	case "error":
		set(thread.Errored, "task failed: "+state.Get("error").Text())
	default:
		s.state = thread.State{Status: thread.Running, Source: thread.Parent, Evidence: "task is " + string(status) + ", call " + call.ID, At: call.Time}
	}
}

// Agents implements thread.Provider. A subagent is a session that names the
// thread, or another of its subagents, as its parent; or one that a call of
// task speaks of.
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
	sessions, err := descendants(ctx, r.session)
	if err != nil {
		return nil, err
	}
	spoken := slices.Clone(r.seen.agents)
	var agents []thread.Agent
	for _, s := range sessions {
		seen := &sighting{}
		if i := slices.IndexFunc(spoken, func(o *sighting) bool { return o.id == s.id }); i >= 0 {
			seen = spoken[i]
			spoken = slices.Delete(spoken, i, i+1)
		}
		a, err := p.agent(ctx, main, seen, s)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	for _, seen := range spoken {
		s, err := r.session.store.find(ctx, seen.id)
		if err != nil {
			return nil, err
		}
		a, err := p.agent(ctx, main, seen, s)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// descendants returns the subagents of a session and theirs, in the order they
// were begun.
func descendants(ctx context.Context, root *session) ([]*session, error) {
	seen := map[string]bool{root.id: true}
	var list []*session
	for next := []*session{root}; len(next) > 0; next = next[1:] {
		children, err := root.store.children(ctx, next[0].id)
		if err != nil {
			return nil, err
		}
		for _, c := range children {
			if !seen[c.id] {
				seen[c.id] = true
				list, next = append(list, c), append(next, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b *session) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
	})
	return list, nil
}

// agent puts together what parent and child say.
func (p *provider) agent(ctx context.Context, main *thread.Thread, seen *sighting, s *session) (thread.Agent, error) {
	a := thread.Agent{ID: seen.id, Role: seen.role, State: seen.state, Lifecycle: seen.events}
	if seen.id != "" {
		a.Evidence = append(a.Evidence, "a task call of the main thread names it")
	}
	if s != nil {
		t := p.thread(s)
		a.ID, a.Role, a.Thread = s.id, or(a.Role, s.agent), t
		switch s.parent {
		case main.ID:
			a.Evidence = append(a.Evidence, "session.parent_id points to main thread")
			a.Lifecycle = append([]thread.Event{{Time: t.Started, Name: "session_parent_link", Detail: "session.parent_id points to main thread"}}, a.Lifecycle...)
		case "":
		default:
			a.Evidence = append(a.Evidence, "session.parent_id points to "+s.parent+", a subagent itself")
		}
		if err := t.Load(ctx); err != nil {
			return a, err
		}
		a.State = thread.Newest(seen.state, t.State)
		if a.Updated = t.Last; a.Updated.IsZero() {
			a.Updated = t.Updated
		}
	}
	a.Validated = len(a.Evidence) > 0
	if s == nil {
		a.State = thread.Newest(seen.state, thread.State{})
	}
	a.URI = main.URI().Child(a.ID)
	return a, nil
}
