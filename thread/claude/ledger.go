package claude

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A ledger is what a transcript says about the subagents of its thread, and
// about other tasks in the background, which are told apart at the end.
type ledger struct {
	tasks  []*sighting
	byID   map[string]*sighting
	orders map[string]*order // by call
	spawns []*order          // in order
	inner  []*sighting       // subagents whose records are in the transcript itself
}

// A sighting is one task.
type sighting struct {
	id, name, role, call string
	spawned              bool // by a call of this thread
	prompt               uint64
	begun                time.Time
	state                thread.State
	events               []thread.Event
}

// An order is a call about subagents.
type order struct {
	call, name  string
	agent       string // that it is about, "" while that is not known
	title, role string
	prompt      uint64
	at          time.Time
	line        int
	state       thread.State // how it ended, where no agent was named
}

func (l *ledger) find(id string) *sighting {
	id = strings.TrimPrefix(id, prefix)
	if a := l.byID[id]; a != nil {
		return a
	}
	if l.byID == nil {
		l.byID = map[string]*sighting{}
	}
	a := &sighting{id: id}
	l.byID[id] = a
	l.tasks = append(l.tasks, a)
	return a
}

const maxEvents = 1000 // kept of one task

// event notes what happened to a task, once: some records tell of it again.
func (a *sighting) event(at time.Time, name, detail string) {
	for _, e := range a.events {
		if e.Name == name && e.Detail == detail && name == "task-notification" {
			return
		}
	}
	if len(a.events) < maxEvents {
		a.events = append(a.events, thread.Event{Time: at, Name: name, Detail: detail})
	}
}

func told(s thread.Status, by string, at time.Time, line int) thread.State {
	return thread.State{Status: s, Source: thread.Parent, Evidence: fmt.Sprintf("%s, line %d of the parent's transcript", by, line), At: at}
}

// called notes a call that is about subagents.
func (l *ledger) called(c thread.Call, input jsonl.Value, line int) {
	o := &order{call: c.ID, name: c.Name, at: c.Time, line: line}
	switch c.Name {
	case "Task", "Agent":
		o.title, o.role = input.Get("description").Text(), input.Get("subagent_type").Text()
		o.prompt = digest(strings.TrimSpace(input.Get("prompt").Text()))
		o.agent = input.Get("resume").Text()
		l.spawns = append(l.spawns, o)
	case "SendMessage":
		o.agent = cmp.Or(input.Get("to").Text(), input.Get("recipient").Text())
	case "TaskOutput", "AgentOutputTool", "TaskStop", "KillShell":
		for _, name := range []string{"task_id", "agentId", "agent_id", "shell_id"} {
			o.agent = cmp.Or(o.agent, input.Get(name).Text())
		}
	default:
		return
	}
	o.agent = strings.TrimPrefix(o.agent, prefix)
	if l.orders == nil {
		l.orders = map[string]*order{}
	}
	l.orders[c.ID] = o
	// What is asked of an agent sets it to work before the call returns.
	if a := l.byID[o.agent]; a != nil && (o.title != "" || o.name == "SendMessage") {
		a.event(o.at, o.name, "")
		a.state = told(thread.Running, o.name, o.at, line)
	}
}

// spawn notes that a call began an agent.
func (l *ledger) spawn(o *order, id string) *sighting {
	a := l.find(id)
	if a.spawned {
		return a
	}
	o.agent = a.id
	a.spawned, a.call, a.prompt, a.begun = true, o.call, o.prompt, o.at
	a.name, a.role = cmp.Or(a.name, o.title), cmp.Or(a.role, o.role)
	a.event(o.at, o.name, "subagent spawned")
	if a.state.Status == "" {
		a.state = told(thread.Running, o.name, o.at, o.line)
	}
	return a
}

var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bagentId: ([0-9A-Za-z_-]+)`) })

// returned notes what a call returned, and the agent it is about.
func (l *ledger) returned(id string, result, body jsonl.Value, failed bool, at time.Time, line int) string {
	o := l.orders[id]
	if o == nil {
		return ""
	}
	switch o.name {
	case "Task", "Agent":
		l.spawned(o, result, body, failed, at, line)
	case "TaskOutput", "AgentOutputTool":
		task := result.Get("task")
		word := cmp.Or(task.Get("task_id").Text(), o.agent)
		if s := status(task.Get("status").Text()); s != "" && word != "" {
			a := l.find(word)
			a.event(o.at, o.name, "status "+string(s))
			a.state = told(s, o.name, at, line)
		}
	case "TaskStop", "KillShell":
		if a := l.byID[o.agent]; a != nil && !failed {
			a.event(o.at, o.name, "")
			a.state = told(thread.Shutdown, o.name, at, line)
		}
	}
	return o.agent
}

// spawned reads what a call that begins an agent returned: what it found, or
// that the agent is at work in the background.
func (l *ledger) spawned(o *order, result, body jsonl.Value, failed bool, at time.Time, line int) {
	id := cmp.Or(result.Get("agentId").Text(), o.agent)
	if id == "" {
		if m := agentID().FindStringSubmatch(output(body)); m != nil {
			id = m[1]
		}
	}
	s := status(result.Get("status").Text())
	if result.Get("isAsync").True() {
		s = thread.Running
	}
	if s == "" {
		s = thread.Completed
	}
	if failed {
		s = thread.Errored
	}
	o.state = told(s, "the result of "+o.name, at, line)
	if id == "" {
		return // the call failed, or the version names no agents
	}
	a := l.spawn(o, id)
	if s != thread.Running {
		a.event(at, "tool_result", "status "+string(s))
	}
	a.state = o.state
}

// progress reads what some versions copy of an agent's records while it works.
func (l *ledger) progress(r *record, line int) {
	if !r.data.Get("type").Is("agent_progress") {
		return
	}
	id := r.data.Get("agentId").Text()
	o := l.orders[cmp.Or(r.tool.Text(), r.data.Get("parentToolUseID").Text())]
	if a := l.byID[id]; id == "" || o == nil || a != nil && a.spawned {
		return
	}
	l.spawn(o, id)
}

// notified reads what the tool says of a task in the background. It does so
// when the task ends, and again when the model is told.
func (l *ledger) notified(text string, at time.Time, line int) {
	if !strings.Contains(text, "<task-notification>") {
		return
	}
	id, s := between(text, "task-id"), status(between(text, "status"))
	if id == "" || s == "" {
		return
	}
	a := l.find(id)
	seen := len(a.events)
	a.event(at, "task-notification", "status "+string(s))
	if len(a.events) > seen {
		a.state = told(s, "task-notification", at, line)
	}
}

// inside notes a subagent whose records are in the session's own transcript.
func (l *ledger) inside(key string, r *record, line int) {
	for _, a := range l.inner {
		if a.id == key {
			return
		}
	}
	a := &sighting{id: key, begun: r.at.Time(), prompt: digest(said(r.message.Get("content")))}
	l.inner = append(l.inner, a)
}

func status(word string) thread.Status {
	switch word {
	case "async_launched", "running", "in_progress", "teammate_spawned":
		return thread.Running
	case "pending":
		return thread.PendingInit
	case "completed", "success":
		return thread.Completed
	case "failed", "error", "timeout":
		return thread.Errored
	case "killed", "stopped", "cancelled":
		return thread.Shutdown
	}
	return ""
}
