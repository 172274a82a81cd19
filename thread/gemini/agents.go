package gemini

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// calls returns the number of calls and records those that ran a subagent.
func (l *log) calls(v jsonl.Value, line int, at time.Time) (n int) {
	for c := v.Elements(); c.Next(); n++ {
		if id := c.Value().Get("agentId").Text(); id != "" {
			called(thread.FindAgent(&l.agents, id), c.Value(), line, at)
		}
	}
	return n
}

// statuses are the statuses of calls. With any other, the subagent is running.
var statuses = map[string]thread.Status{"success": thread.Completed, "error": thread.Errored,
	"cancelled": thread.Errored}

// goal is why a subagent ended that did its task. Its call succeeds in any case.
const goal = "GOAL"

func called(a *thread.Agent, v jsonl.Value, line int, at time.Time) {
	status := string(v.Get("status").Raw())
	// One tool starts all subagents in newer versions; before, each was a tool.
	a.Name = cmp.Or(v.Get("resultDisplay", "agentName").Text(), v.Get("args", "agent_name").Text(), v.Get("name").Text())
	if t := v.Get("timestamp").Time(); !t.IsZero() {
		at = t
	}
	a.State = thread.ReadState(cmp.Or(statuses[status], thread.Running), thread.Parent, at,
		"the parent's call of %s has status %q, line %d", a.Name, status, line)
	if end := v.Get("resultDisplay", "terminateReason").Text(); statuses[status] == thread.Completed && end != "" &&
		end != goal {
		status = end
		a.State = thread.ReadState(thread.Errored, thread.Parent, at, "the parent's call of %s ended with %q, line %d",
			a.Name, end, line)
	}
	event := thread.Event{Time: at, Name: "run_" + a.Name, Detail: status}
	if n := len(a.Lifecycle); n > 0 && a.Lifecycle[n-1] == event {
		return // a new version of the message
	}
	a.AddEvent(event.Time, event.Name, event.Detail)
}

// Agents implements thread.Provider. A subagent is a chat in the directory named
// after the parent, one that names the parent, or one that a call of the parent
// names.
func (p *provider) Agents(ctx context.Context, main *thread.Thread) ([]thread.Agent, error) {
	r, err := thread.ReaderOf[*reader](ctx, main)
	if err != nil {
		return nil, err
	}
	children, err := p.children(ctx, main, r.chat)
	if err != nil {
		return nil, err
	}
	mentioned := slices.DeleteFunc(slices.Clone(r.log.agents), func(a *thread.Agent) bool { return a.ID == main.ID })
	same := func(a *thread.Agent, t *thread.Thread) bool {
		return t.ID == a.ID || t.Reader.(*reader).chat.stem == safe(a.ID)
	}
	return thread.Join(mentioned, children, same, func(mention *thread.Agent, child *thread.Thread) (thread.Agent, error) {
		return agent(ctx, main, mention, child)
	})
}

// children opens the chats of main's subagents, in the order they were started.
func (p *provider) children(ctx context.Context, main *thread.Thread, at chat) ([]*thread.Thread, error) {
	t := newTree(ctx)
	found, _ := t.chats(at.chats, safe(main.ID))
	for i := range found {
		found[i].head = t.head(found[i])
	}
	beside, _ := t.chats(at.chats, "")
	during := thread.StartedDuring(at.path(), at.started(), time.Time{}, minute)
	for _, c := range beside {
		if !during(c.started()) {
			continue
		}
		if c.head = t.head(c); c.head.parent == main.ID {
			found = append(found, c)
		}
	}
	if err := t.Err(at.chats); err != nil {
		return nil, err
	}
	return thread.Children(main, found, chat.id, p.open)
}

// agent combines the records of the parent and of the child. One of them may be
// missing.
func agent(ctx context.Context, main *thread.Thread, mention *thread.Agent, child *thread.Thread) (a thread.Agent,
	err error) {
	if mention != nil {
		a = *mention
		a.Evidence = []string{"a call of the parent names it"}
	}
	if child == nil {
		a.Complete(main, thread.Facts{})
		return a, nil
	}
	c := child.Reader.(*reader).chat
	if c.head.parent == main.ID {
		a.Evidence = append(a.Evidence, "child chat payload includes explicit parent session reference")
	}
	if c.folder == safe(main.ID) {
		a.Evidence = append(a.Evidence, "child chat is in the directory named after main thread")
	}
	if len(a.Lifecycle) == 0 {
		a.AddEvent(child.Started, "start_chat", "from the child's chat; the parent's does not mention it")
	}
	a.Thread, err = child, child.Load(ctx)
	a.Complete(main, child.Facts)
	return a, err
}
