package claude

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

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

// begin adds the start of a subagent by the call.
func (o *call) begin(m *engine.Mention) {
	m.Aliases = alias(m.Aliases, o.id)
	if m.Name == "" {
		m.Name, m.Described = o.title, o.described
	}
	m.Role = cmp.Or(m.Role, o.role)
	m.AddEvent(o.at, o.name, "subagent spawned")
	if m.State.Status == "" {
		m.State = parentState(thread.Running, o.name, o.at, o.line)
	}
}

// assume adds what the call says of a subagent that has its prompt. While a subagent is
// running, and always in old versions, nothing else connects the two.
func (o *call) assume(m *engine.Mention) {
	o.begin(m)
	m.Evidence = append(m.Evidence, "parent transcript contains a call with its prompt")
	if o.state.Status != "" {
		m.State = o.state
		m.AddEvent(o.state.At, "tool_result", "status "+string(o.state.Status))
	}
}

func parentState(s thread.Status, by string, at time.Time, line int) thread.State {
	return thread.ReadState(s, thread.Parent, at, "%s, line %d of the parent's transcript", by, line)
}

// task returns a background task. Whether it is a subagent is known only later.
func (d *decode) task(id string) *engine.Mention {
	id = strings.TrimPrefix(id, prefix)
	m := d.tasks[id]
	if m == nil {
		m = d.Agent(id)
		m.Maybe = !m.Spawned
		m.Aliases = alias(m.Aliases, prefix+id)
		set(&d.tasks, id, m)
	}
	return m
}

// called decodes a call if it is about subagents.
func (d *decode) called(c thread.Call, input jsonl.Value) {
	o := &call{id: c.ID, name: c.Name, at: c.Time, line: d.n}
	switch c.Name {
	case "Task", "Agent":
		o.names(input, "subagent_type")
		o.prompt = digest(strings.TrimSpace(input.Get("prompt").Text()))
		o.agent = input.Get("resume").Text()
		d.spawns = append(d.spawns, o)
		set(&d.Spawning, c.ID, true)
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
	set(&d.calls, c.ID, o)
	// A message to a subagent starts it before the call returns.
	if m := d.tasks[o.agent]; m != nil && (o.title != "" || o.name == "SendMessage") {
		m.AddEvent(o.at, o.name, "")
		m.State = parentState(thread.Running, o.name, o.at, d.n)
	}
}

// callOf returns a call about subagents, nil if there is none with the ID.
func (d *decode) callOf(id string) *call {
	o := d.calls[id]
	if o == nil && d.Spawning[id] { // before reading was resumed
		o = &call{id: id, name: "Agent"}
		set(&d.calls, id, o)
	}
	return o
}

// spawn notes that a call started a subagent.
func (d *decode) spawn(o *call, id string) *engine.Mention {
	m := d.task(id)
	if o.agent = m.ID; m.Maybe {
		m.Maybe, m.Spawned = false, d.own()
		m.Evidence = append(m.Evidence, "parent transcript contains the result of the call that spawned it")
		o.begin(m)
	}
	return m
}

var agentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bagentId: ([0-9A-Za-z_-]+)`) })

// returned decodes the result of a call. It returns the subagent of the call.
func (d *decode) returned(id string, r *record, body jsonl.Value, failed bool) string {
	o, result := d.callOf(id), r.result
	delete(d.Spawning, id)
	if o == nil && result.Get("agentId").Kind() == jsonl.String && status(result.Get("status").Text()) != "" {
		// The call is in the transcript that this one continues.
		o = &call{id: id, name: "Agent", at: r.at.Time(), line: d.n}
		o.names(result, "agentType")
	}
	if o == nil {
		return ""
	}
	at := r.at.Time()
	switch o.name {
	case "Task", "Agent":
		d.ran(o, r, body, failed)
	case "TaskOutput", "AgentOutputTool":
		task := result.Get("task")
		word := cmp.Or(task.Get("task_id").Text(), o.agent)
		if s := status(task.Get("status").Text()); s != "" && word != "" {
			m := d.task(word)
			m.AddEvent(at, o.name, "status "+string(s))
			m.State = parentState(s, o.name, at, d.n)
		}
	case "TaskStop", "KillShell":
		if m := d.tasks[o.agent]; m != nil && !failed {
			m.AddEvent(o.at, o.name, "")
			m.State = parentState(thread.Shutdown, o.name, at, d.n)
		}
	}
	return o.agent
}

// ran decodes the result of a call that starts a subagent: the subagent's answer, or
// that it runs in the background.
func (d *decode) ran(o *call, r *record, body jsonl.Value, failed bool) {
	id := cmp.Or(r.result.Get("agentId").Text(), o.agent)
	if id == "" {
		if m := agentID().FindStringSubmatch(output(body)); m != nil {
			id = m[1]
		}
	}
	s, at := cmp.Or(status(r.result.Get("status").Text()), thread.Completed), r.at.Time()
	switch {
	case failed:
		s = thread.Errored
	case r.result.Get("isAsync").True():
		s = thread.Running
	}
	o.state = parentState(s, "the result of "+o.name, at, d.n)
	if id == "" {
		return // the call failed, or the version does not name subagents
	}
	m := d.spawn(o, id)
	if s != thread.Running {
		m.AddEvent(at, "tool_result", "status "+string(s))
	}
	m.State = o.state
}

// progress decodes a record that some versions copy from a running subagent.
func (d *decode) progress(r *record) {
	if !r.data.Get("type").Is("agent_progress") {
		return
	}
	id := r.data.Get("agentId").Text()
	o := d.callOf(cmp.Or(r.tool.Text(), r.data.Get("parentToolUseID").Text()))
	if id != "" && o != nil {
		d.spawn(o, id)
	}
	if m := d.tasks[id]; m != nil && r.data.Get("message", "message").Kind() == jsonl.Object {
		m.Copies = true
	}
}

// notified decodes a notification about a background task. It is recorded when the
// task ends, and again when it is sent to the model.
func (d *decode) notified(text string, at time.Time) {
	const event = "task-notification"
	if !strings.Contains(text, "<task-notification>") {
		return
	}
	id, s := between(text, "task-id"), status(between(text, "status"))
	if id == "" || s == "" {
		return
	}
	m, detail := d.task(id), "status "+string(s)
	if !slices.ContainsFunc(m.Lifecycle, func(e thread.Event) bool { return e.Name == event && e.Detail == detail }) {
		m.AddEvent(at, event, detail)
		m.State = parentState(s, event, at, d.n)
	}
}

// A part decodes the records of a subagent in the transcript of its session.
type part struct {
	*decode
	mention *engine.Mention
	prompt  uint64
}

// inside decodes a record of a subagent in the transcript of its session.
func (d *decode) inside(key string, r *record) {
	p := d.parts[key]
	if p == nil {
		if kind := string(r.kind); kind != "user" && kind != "assistant" {
			return
		}
		m := d.tasks[key]
		if m == nil {
			m = d.Mention(engine.Mention{Agent: thread.Agent{ID: key}})
		}
		m.Reader, m.Started = d.t.part(key, false), r.at.Time()
		p = &part{m.Reader.New(d.Part()).(*decode), m, digest(text(r.message.Get("content")))}
		p.current = d.current
		set(&d.parts, key, p)
		d.inner = append(d.inner, p)
	}
	p.Known = true
	p.add(r)
}

// finishAgents adds what is known of subagents only after the last record.
func (d *decode) finishAgents() {
	for _, m := range d.tasks {
		if m.Copies = m.Copies && !m.Maybe; m.Copies {
			m.Reader = d.t.part(m.ID, true)
		}
	}
	for _, p := range d.inner {
		i := slices.IndexFunc(d.spawns, func(o *call) bool { return o.agent == "" && o.prompt == p.prompt })
		if i >= 0 {
			d.spawns[i].assume(p.mention)
			d.spawns = slices.Delete(d.spawns, i, i+1)
		}
		p.mention.Facts = d.EndPart(p.Scan, p.decode)
	}
	for _, o := range d.spawns {
		if o.agent == "" {
			m := engine.Mention{Prompt: o.prompt, Maybe: true}
			o.assume(&m)
			d.Mention(m)
		}
	}
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
