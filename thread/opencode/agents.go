package opencode

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// child returns the ID of the subagent of a call of task, "" if there is none.
func child(p jsonl.Value) string {
	if !p.Get("tool").Is("task") {
		return ""
	}
	state := p.Get("state")
	if id := state.Get("metadata", "sessionId").Text(); id != "" {
		return id
	}
	if _, id, ok := strings.Cut(state.Get("output").Text(), "task_id: ses_"); ok {
		return "ses_" + id[:len(id)-len(strings.TrimLeft(id, alphanumeric))]
	}
	return state.Get("input", "task_id").Text()
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// called handles a call of task, which starts or resumes a subagent. It ends when
// the turn of the subagent ends.
func (s *scanner) called(p jsonl.Value, call thread.Call) {
	if call.Agent == "" {
		return
	}
	a, state := thread.FindAgent(&s.agents, call.Agent), p.Get("state")
	a.Role = cmp.Or(state.Get("input", "subagent_type").Text(), a.Role)
	a.AddEvent(call.Time, "task", cmp.Or(state.Get("input", "description").Text(), state.Get("title").Text()))
	end := jsonl.Milliseconds(state.Get("time", "end").Int())
	set := func(status thread.Status, reason string) {
		a.State = thread.ReadState(status, thread.Parent, end, "%s, call %s", reason, call.ID)
		a.AddEvent(end, "task_"+string(status), state.Get("error").Text())
	}
	switch status := state.Get("status").Raw(); string(status) {
	case "completed":
		set(thread.Completed, "task completed")
	case "error":
		set(thread.Errored, "task failed: "+state.Get("error").Text())
	default:
		a.State = thread.ReadState(thread.Running, thread.Parent, call.Time, "task is %s, call %s", status, call.ID)
	}
}

// Agents implements thread.Provider. A subagent is a session that names the
// thread or another subagent as its parent, or one that a call of task names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	sessions, err := descendants(ctx, r.session)
	if err != nil {
		return nil, err
	}
	same := func(s *session, mention *thread.Agent) bool { return s.id == mention.ID }
	return thread.Join(sessions, r.agents, same, func(s *session, mention *thread.Agent) (thread.Agent, error) {
		if s == nil {
			if s, err = r.session.store.find(ctx, mention.ID); err != nil {
				return thread.Agent{}, err
			}
		}
		return p.agent(ctx, main, s, mention)
	})
}

// descendants returns the subagents of a session at all levels, in the order they
// were started.
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

// agent combines the records of the parent and of the child. One of them may be
// missing.
func (p *provider) agent(ctx context.Context, main *thread.Thread, s *session, mention *thread.Agent) (a thread.Agent,
	err error) {
	if mention != nil {
		a = *mention
		a.Evidence = []string{"a task call of the main thread names it"}
	}
	if s == nil {
		a.Complete(main, thread.Facts{})
		return a, nil
	}
	a.Name, a.Described, a.Role, a.Thread = s.title, true, cmp.Or(a.Role, s.agent), p.thread(s)
	switch s.parent {
	case main.ID:
		a.Evidence = append(a.Evidence, "session.parent_id points to main thread")
		a.Lifecycle = append([]thread.Event{{Time: a.Thread.Started, Name: "session_parent_link",
			Detail: "session.parent_id points to main thread"}}, a.Lifecycle...)
	case "":
	default:
		a.Evidence = append(a.Evidence, "session.parent_id points to "+s.parent+", another subagent")
	}
	err = a.Thread.Load(ctx)
	a.Complete(main, a.Thread.Facts)
	return a, err
}
