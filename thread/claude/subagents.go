package claude

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// subagents are the background tasks that a transcript mentions. Which of them are
// subagents is known only at the end.
type subagents struct {
	tasks  []*subagent
	byID   map[string]*subagent
	calls  map[string]*call // by ID
	spawns []*call          // in order
	inner  []*subagent      // subagents whose records are in the transcript itself
	within map[string]bool  // by ID

	inherited bool // the record was copied from another session
}

// A subagent is one background task.
type subagent struct {
	thread.Agent
	call    string
	spawned bool // by a call of this thread
	own     bool // which was not copied from another session
	copied  bool // there are copies of its records
	prompt  uint64
	started time.Time
}

// A call is a call about subagents.
type call struct {
	id, name    string
	agent       string // ID of the subagent, "" if not known yet
	title, role string // the title is the name, or describes the task
	described   bool   // it does
	prompt      uint64
	at          time.Time
	line        int
	state       thread.State // its outcome, if the subagent is not named
}

// names sets what a call or its result says of the subagent.
func (o *call) names(v jsonl.Value, role string) {
	o.title, o.role = v.Get("name").Text(), v.Get(role).Text()
	if o.described = o.title == ""; o.described {
		o.title = v.Get("description").Text()
	}
}

func newSubagent(id string) *subagent { return &subagent{Agent: thread.Agent{ID: id}} }

func (l *subagents) find(id string) *subagent {
	id = strings.TrimPrefix(id, prefix)
	if a := l.byID[id]; a != nil {
		return a
	}
	a := newSubagent(id)
	l.byID[id] = a
	l.tasks = append(l.tasks, a)
	return a
}

func (l *subagents) spawnedBy(id string) bool {
	a := l.byID[id]
	return a != nil && a.spawned
}

func parentState(s thread.Status, by string, at time.Time, line int) thread.State {
	return thread.ReadState(s, thread.Parent, at, "%s, line %d of the parent's transcript", by, line)
}

// called handles a call if it is about subagents.
func (l *subagents) called(c thread.Call, input jsonl.Value, line int) {
	o := &call{id: c.ID, name: c.Name, at: c.Time, line: line}
	switch c.Name {
	case "Task", "Agent":
		o.names(input, "subagent_type")
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
	l.calls[c.ID] = o
	// A message to a subagent starts it before the call returns.
	if a := l.byID[o.agent]; a != nil && (o.title != "" || o.name == "SendMessage") {
		a.AddEvent(o.at, o.name, "")
		a.State = parentState(thread.Running, o.name, o.at, line)
	}
}

// spawn records that a call started a subagent.
func (l *subagents) spawn(o *call, id string) *subagent {
	a := l.find(id)
	if a.spawned {
		return a
	}
	o.agent = a.ID
	a.spawned, a.own, a.call, a.prompt, a.started = true, !l.inherited, o.id, o.prompt, o.at
	if a.Name == "" {
		a.Name, a.Described = o.title, o.described
	}
	a.Role = cmp.Or(a.Role, o.role)
	a.AddEvent(o.at, o.name, "subagent spawned")
	if a.State.Status == "" {
		a.State = parentState(thread.Running, o.name, o.at, o.line)
	}
	return a
}

var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bagentId: ([0-9A-Za-z_-]+)`) })

// returned handles the result of a call. It returns the subagent of the call.
func (l *subagents) returned(id string, result, body jsonl.Value, failed bool, at time.Time, line int) string {
	o := l.calls[id]
	if o == nil && result.Get("agentId").Kind() == jsonl.String && status(result.Get("status").Text()) != "" {
		// The call is in the transcript that this one continues.
		o = &call{id: id, name: "Agent", at: at, line: line}
		o.names(result, "agentType")
	}
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
			a.AddEvent(at, o.name, "status "+string(s))
			a.State = parentState(s, o.name, at, line)
		}
	case "TaskStop", "KillShell":
		if a := l.byID[o.agent]; a != nil && !failed {
			a.AddEvent(o.at, o.name, "")
			a.State = parentState(thread.Shutdown, o.name, at, line)
		}
	}
	return o.agent
}

// spawned handles the result of a call that starts a subagent: the subagent's
// answer, or that it runs in the background.
func (l *subagents) spawned(o *call, result, body jsonl.Value, failed bool, at time.Time, line int) {
	id := cmp.Or(result.Get("agentId").Text(), o.agent)
	if id == "" {
		if m := agentID().FindStringSubmatch(output(body)); m != nil {
			id = m[1]
		}
	}
	s := cmp.Or(status(result.Get("status").Text()), thread.Completed)
	switch {
	case failed:
		s = thread.Errored
	case result.Get("isAsync").True():
		s = thread.Running
	}
	o.state = parentState(s, "the result of "+o.name, at, line)
	if id == "" {
		return // the call failed, or the version does not name subagents
	}
	a := l.spawn(o, id)
	if s != thread.Running {
		a.AddEvent(at, "tool_result", "status "+string(s))
	}
	a.State = o.state
}

// progress handles a record that some versions copy from a running subagent.
func (l *subagents) progress(r *record, line int) {
	if !r.data.Get("type").Is("agent_progress") {
		return
	}
	id := r.data.Get("agentId").Text()
	o := l.calls[cmp.Or(r.tool.Text(), r.data.Get("parentToolUseID").Text())]
	if id != "" && o != nil && !l.spawnedBy(id) {
		l.spawn(o, id)
	}
	if a := l.byID[id]; a != nil && r.data.Get("message", "message").Kind() == jsonl.Object {
		a.copied = true
	}
}

// own returns the IDs of the subagents that the thread started.
func (l *subagents) own() (ids []string) {
	for _, a := range l.tasks {
		if a.own {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// spawning returns the calls that have not returned yet and start a subagent.
func (l *subagents) spawning() (calls []string) {
	for _, o := range l.spawns {
		if o.agent == "" && o.state.Status == "" {
			calls = append(calls, o.id)
		}
	}
	return calls
}

// restore restores what own and spawning returned.
func (l *subagents) restore(own, spawning []string) {
	for _, id := range own {
		a := l.find(id)
		a.spawned, a.own = true, true
	}
	for _, id := range spawning {
		o := &call{id: id, name: "Agent"}
		l.calls[id] = o
		l.spawns = append(l.spawns, o)
	}
}

// notified handles a notification about a background task. It is recorded when the
// task ends, and again when it is sent to the model.
func (l *subagents) notified(text string, at time.Time, line int) {
	const event = "task-notification"
	if !strings.Contains(text, "<task-notification>") {
		return
	}
	id, s := between(text, "task-id"), status(between(text, "status"))
	if id == "" || s == "" {
		return
	}
	a, detail := l.find(id), "status "+string(s)
	for _, e := range a.Lifecycle {
		if e.Name == event && e.Detail == detail {
			return
		}
	}
	a.AddEvent(at, event, detail)
	a.State = parentState(s, event, at, line)
}

// inside records a subagent whose records are in the session's own transcript.
func (l *subagents) inside(key string, r *record) {
	if l.within[key] {
		return
	}
	if l.within == nil {
		l.within = map[string]bool{}
	}
	l.within[key] = true
	a := newSubagent(key)
	a.started, a.prompt = r.at.Time(), digest(text(r.message.Get("content")))
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
