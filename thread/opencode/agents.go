package opencode

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A sighting is what a thread says of one of its subagents.
type sighting struct {
	id     string
	role   string
	state  thread.State
	events []thread.Event
}

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
	if _, said, ok := strings.Cut(state.Get("output").Text(), "task_id: ses_"); ok {
		return "ses_" + said[:len(said)-len(strings.TrimLeft(said, alphanumeric))]
	}
	return state.Get("input", "task_id").Text()
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// called follows a call of task, by which a subagent is begun or resumed. It
// ends when the subagent's turn does.
func (sc *scanner) called(p jsonl.Value, call thread.Call) {
	if call.Agent == "" {
		return
	}
	i := slices.IndexFunc(sc.agents, func(s *sighting) bool { return s.id == call.Agent })
	if i < 0 {
		i = len(sc.agents)
		sc.agents = append(sc.agents, &sighting{id: call.Agent})
	}
	s := sc.agents[i]
	state := p.Get("state")
	s.role = cmp.Or(state.Get("input", "subagent_type").Text(), s.role)
	s.events = append(s.events, thread.Event{Time: call.Time, Name: "task", Detail: cmp.Or(state.Get("input", "description").Text(), state.Get("title").Text())})
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
	r, err := thread.ReadBy[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	sessions, err := descendants(ctx, r.session)
	if err != nil {
		return nil, err
	}
	is := func(s *session, seen *sighting) bool { return s.id == seen.id }
	return thread.Join(sessions, r.seen, is, func(s *session, seen *sighting) (thread.Agent, error) {
		if s == nil {
			if s, err = r.session.store.find(ctx, seen.id); err != nil {
				return thread.Agent{}, err
			}
		}
		return p.agent(ctx, main, s, seen)
	})
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

// agent puts together what parent and child say; one of the two may be missing.
func (p *provider) agent(ctx context.Context, main *thread.Thread, s *session, seen *sighting) (a thread.Agent, err error) {
	if seen != nil {
		a = thread.Agent{ID: seen.id, Role: seen.role, State: seen.state, Lifecycle: seen.events, Evidence: []string{"a task call of the main thread names it"}}
	}
	if s == nil {
		a.Settle(main, thread.Facts{})
		return a, nil
	}
	a.Role, a.Thread = cmp.Or(a.Role, s.agent), p.thread(s)
	switch s.parent {
	case main.ID:
		a.Evidence = append(a.Evidence, "session.parent_id points to main thread")
		a.Lifecycle = append([]thread.Event{{Time: a.Thread.Started, Name: "session_parent_link", Detail: "session.parent_id points to main thread"}}, a.Lifecycle...)
	case "":
	default:
		a.Evidence = append(a.Evidence, "session.parent_id points to "+s.parent+", a subagent itself")
	}
	err = a.Thread.Load(ctx)
	a.Settle(main, a.Thread.Facts)
	return a, err
}
