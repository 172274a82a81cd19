package copilot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the events of one agent of a session.
type decode struct {
	*engine.Scan
	path    string
	session string
	agent   string // "" for the main agent
	started bool   // the first session.start was read

	turn     bool // has started and not ended
	answered bool // it has an answer
	calls    bool // the last answer has calls
	usage    usage
	model    string            // that events name, for answers that don't
	question string            // what the last answer waits for
	names    map[string]string // names of subagents, by the ID of the call
}

func decoder(path, session, agent string) func(*engine.Scan) engine.Decoder {
	return func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, path: path, session: session, agent: agent, names: map[string]string{}}
	}
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	kind, data, at := string(d.Members.Get("type").Raw()), d.Members.Get("data"), d.Members.Get("timestamp").Time()
	if kind == "session.start" {
		if d.started {
			d.Facts.Warn("the file contains another thread from line %d: %s", n, data.Get("sessionId").Text())
			d.Stopped = true
			return
		}
		d.started = true
	}
	agent := d.Members.Get("agentId").Text()
	if strings.HasPrefix(kind, "subagent.") && d.agent == "" {
		d.subagent(kind, agent, data, n, at)
		return
	}
	if shell := thread.LowerUUID(data.Get("usage", "accounting", "sourceSessionId").Text()); agent != "" && shell != "" {
		d.shell(agent, shell)
	}
	if agent != d.agent {
		if agent != "" {
			d.usage.others = true
		}
		return
	}
	d.At(at)
	d.event(n, kind, data, at)
}

// event decodes an event of the agent.
func (d *decode) event(n int, kind string, data jsonl.Value, at time.Time) {
	switch kind {
	case "user.message":
		d.Prompt(n, thread.Message{ID: d.Members.Get("id").Text(), Text: engine.Text(data.Get("content")), Time: at})
	case "assistant.turn_start":
		d.turn, d.answered, d.calls = true, false, false
		d.State(thread.Running, at, "assistant.turn_start, line %d", n)
	case "assistant.message":
		d.answer(n, data, at)
	case "assistant.turn_end":
		d.endTurn(n, at)
	case "tool.execution_start":
		d.call(n, data, at)
	case "tool.execution_complete":
		d.named(data.Get("model").Text())
		d.result(n, data, at)
	case "session.model_change":
		d.named(data.Get("previousModel").Text())
		if model := data.Get("newModel").Text(); model != "auto" {
			d.model = cmp.Or(model, d.model)
		}
	case "session.task_complete":
		if data.Get("success").Kind() == jsonl.Absent || data.Get("success").True() {
			d.turn, d.calls, d.answered = false, false, true
			d.State(thread.Completed, at, "session.task_complete, line %d", n)
		}
	case "permission.requested":
		d.Calls.Add(data.Get("requestId").Text(), "permission for a call")
		d.State(thread.Running, at, "permission.requested, line %d", n)
		d.Facts.State.Waiting = "permission for a call"
	case "permission.completed":
		delete(d.Calls, data.Get("requestId").Text())
		d.Facts.State.Waiting = d.Calls.Waiting()
	case "session.compaction_start":
		d.StartCompaction(at, "session.compaction_start, line %d", n)
	case "session.compaction_complete":
		d.EndCompaction()
		if data.Get("success").True() {
			d.Compacted(data.Get("summaryContent").Text(), at)
		}
	case "session.usage_record":
		d.usage.record(d.Scan, data.Get("usage"))
	case "abort":
		d.State(thread.Errored, at, "interrupted: abort, line %d", n)
	case "session.error":
		d.Note("The request failed. "+data.Get("message").Text(), at)
		d.State(thread.Errored, at, "session.error: %s, line %d", thread.Brief(data.Get("message").Text()), n)
	case "session.info":
		if data.Get("infoType").Is("rewind") {
			d.Note(data.Get("message").Text(), at)
		}
	case "session.shutdown":
		d.shutdown(n, data, at)
	}
}

// answer decodes an answer of the model, of which the calls follow as events.
func (d *decode) answer(n int, data jsonl.Value, at time.Time) {
	model := cmp.Or(data.Get("model").Text(), d.model)
	d.Timeline.AddThinking(data.Get("reasoningText").Text())
	text := engine.Text(data.Get("content"))
	d.Timeline.Add(thread.Message{ID: data.Get("messageId").Text(), Role: thread.Assistant, Text: text, Model: model,
		Time: at})
	d.answered, d.calls = true, false
	for c := data.Get("toolRequests").Elements(); c.Next(); {
		d.calls = true
		if c.Value().Get("name").Is("task") {
			d.names[c.Value().Get("toolCallId").Text()] = c.Value().Get("arguments", "name").Text()
		}
	}
	d.usage.answer(d.Scan, model, data)
	d.question = ""
	if !d.calls {
		d.question = thread.WaitingFor(text)
	}
	if d.turn || d.calls {
		d.State(thread.Running, at, "the turn of the last answer has not ended, line %d", n)
	} else {
		d.endTurn(n, at)
	}
}

// named sets the model of the answers so far that name none.
func (d *decode) named(model string) {
	if model != "" && model != "auto" {
		d.model = model
		d.Meter.Rename(model)
	}
}

// endTurn decodes the end of a turn. A turn is one request and its calls.
func (d *decode) endTurn(n int, at time.Time) {
	switch d.turn = false; {
	case d.calls:
		d.State(thread.Running, at, "results of calls have no answer yet, line %d", n)
	case !d.answered:
		d.State(thread.Running, at, "a turn ended without an answer, line %d", n)
	default:
		d.State(thread.Completed, at, "assistant.turn_end, line %d", n)
		d.Facts.State.Waiting = d.waiting()
	}
}

// waiting returns what the thread waits for after its turn ended.
func (d *decode) waiting() string {
	if w := d.Calls.Waiting(); w != "" {
		return w
	}
	return d.question
}

func (d *decode) call(n int, data jsonl.Value, at time.Time) {
	id, tool := data.Get("toolCallId").Text(), data.Get("toolName").Text()
	c := thread.Call{ID: id, Name: tool, Time: at}
	if d.Timeline.Detail == thread.Tools {
		c.Input = thread.Clip(data.Get("arguments").Plain())
		if tool == "task" {
			for _, a := range d.Mentions() {
				if a.ID == id || len(a.Aliases) > 0 && a.Aliases[0] == id {
					c.Agent = a.ID
				}
			}
		}
	}
	waiting := ""
	if tool == "ask_user" {
		waiting = "an answer to its question"
	}
	d.Call(n, c, waiting)
}

func (d *decode) result(n int, data jsonl.Value, at time.Time) {
	d.Result(n, data.Get("toolCallId").Text(), at, func(c *thread.Call) {
		output := data.Get("result", "content")
		if output.Kind() == jsonl.Absent {
			output = data.Get("error", "message")
		}
		c.Output = thread.Clip(engine.Output(output))
		c.Failed = !data.Get("success").True() || data.Get("shellExecution", "exitCode").Int() != 0
	})
}

// shutdown decodes the end of the process.
func (d *decode) shutdown(n int, data jsonl.Value, at time.Time) {
	if d.usage.shutdown(data); len(d.usage.last) == 1 {
		for model := range d.usage.last {
			d.Meter.Rename(model)
		}
	}
	if d.Facts.State.Status == thread.Running {
		d.State(thread.Errored, at, "the tool was closed during a turn: session.shutdown, line %d", n)
	}
	d.Calls = nil
}

// shell sets the ID that a subagent has in the environment of its shells.
func (d *decode) shell(agent, id string) {
	switch {
	case id == d.session || id == agent:
		return
	case agent == d.agent:
		d.Facts.ShellID = id
	}
	for _, a := range d.Mentions() {
		if a.ID == agent && !slices.Contains(a.Aliases, id) {
			a.Aliases = append(a.Aliases, id)
		}
	}
}

// ends are the statuses after an event of a subagent.
func ends(kind string) thread.Status {
	switch kind {
	case "subagent.started":
		return thread.Running
	case "subagent.completed":
		return thread.Completed
	case "subagent.failed":
		return thread.Errored
	}
	return ""
}

// subagent decodes an event about a subagent.
func (d *decode) subagent(kind, id string, data jsonl.Value, n int, at time.Time) {
	call := data.Get("toolCallId").Text()
	if id == "" {
		id = call
	}
	status := ends(kind)
	if status == "" || id == "" {
		return
	}
	d.At(at)
	a := d.Agent(id)
	a.Reader = &engine.Reader{Source: engine.Lines(d.path), New: decoder(d.path, d.session, id)}
	if kind == "subagent.started" {
		a.Role = data.Get("agentName").Text()
		if a.Name = d.names[call]; a.Name == "" {
			a.Name = data.Get("agentDisplayName").Text()
		}
		if call != id && a.Aliases == nil {
			a.Aliases = []string{call}
		}
		a.Evidence = []string{"the parent's events are about it"}
	}
	detail := data.Get("error").Text()
	a.State = thread.ReadState(status, thread.Parent, at, "%s, line %d", kind, n)
	a.AddEvent(at, strings.ReplaceAll(kind, ".", "_"), thread.Brief(detail))
	d.usage.others = true
}

// Finish implements engine.Decoder.
func (d *decode) Finish() { d.usage.finish(d.Scan, d.agent != "") }
