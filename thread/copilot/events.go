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
		return &decode{Scan: s, path: path, session: session, agent: agent, names: map[string]string{},
			usage: usage{total: map[string]thread.Tokens{}, answered: map[string]thread.Tokens{}}}
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
	if !d.event(n, kind, data, at) && !d.ending(n, kind, data, at) {
		d.other(kind, v)
	}
}

// event decodes an event of a turn. It reports whether it knows its kind.
func (d *decode) event(n int, kind string, data jsonl.Value, at time.Time) bool {
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
	case "session.usage_record":
		d.usage.record(d.Scan, data.Get("usage"))
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
	default:
		return false
	}
	return true
}

// ending decodes an event between turns, or one that ends them. It reports whether it knows its kind.
func (d *decode) ending(n int, kind string, data jsonl.Value, at time.Time) bool {
	switch kind {
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
		success := data.Get("success").True()
		if success {
			d.Compacted(data.Get("summaryContent").Text(), at)
		}
		d.usage.compaction(d.Scan, data.Get("compactionTokensUsed"), success)
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
	default:
		return false
	}
	return true
}

// unread are the kinds of events that have nothing to show, and no usage that nothing else has.
const unread = " subagent.started subagent.completed subagent.failed subagent.configured " +
	"session.start session.resume session.usage_checkpoint session.usage_info session.truncation " +
	"model.turn_started model.model_call_started model.model_call_success model.message model.response " +
	"model.turn_ended model.messages_snapshot model.call_failure hook.start hook.end hook.progress system.message " +
	"system.notification assistant.reasoning assistant.intent assistant.idle assistant.message_start " +
	"assistant.server_tool_progress tool.execution_partial_result tool.execution_progress tool.user_requested " +
	"tool_search.activated skill.invoked auto_mode_switch.completed auto_mode_switch.requested " +
	"capabilities.changed command.completed command.execute command.queued commands.changed elicitation.completed " +
	"elicitation.requested exit_plan_mode.completed exit_plan_mode.requested external_tool.completed " +
	"external_tool.requested mcp.headers_refresh_completed mcp.headers_refresh_required mcp.oauth_completed " +
	"mcp.oauth_required mcp.prompts.list_changed mcp.resources.list_changed mcp.tools.list_changed " +
	"mcp_app.tool_call_complete pending_messages.modified sampling.completed sampling.requested " +
	"session.auto_mode_resolved session.autopilot_objective_changed session.background_tasks_changed " +
	"session.binary_asset session.context_changed session.context_cleared session.custom_agents_updated " +
	"session.custom_notification session.extensions_loaded session.handoff session.idle " +
	"session.managed_settings_enforced session.managed_settings_resolved session.mcp_server_status_changed " +
	"session.mcp_servers_loaded session.mode_changed session.permissions_changed session.plan_changed " +
	"session.remote_steerable_changed session.schedule_cancelled session.schedule_created " +
	"session.schedule_rearmed session.session_limits_changed session.skills_loaded session.snapshot_rewind " +
	"session.title_changed session.todos_changed session.tools_updated session.warning " +
	"session.workspace_file_changed session_limits_exhausted.completed session_limits_exhausted.requested " +
	"user_input.completed user_input.requested "

// other notes an event of another kind.
func (d *decode) other(kind string, v jsonl.Value) {
	if !strings.Contains(unread, " "+kind+" ") {
		d.Unknown(kind, v)
	}
}

// answer decodes an answer of the model, of which the calls follow as events.
func (d *decode) answer(n int, data jsonl.Value, at time.Time) {
	model := cmp.Or(data.Get("model").Text(), d.model)
	d.Timeline.AddThinking(data.Get("reasoningText").Text())
	text := engine.Text(data.Get("content"))
	d.Answer(thread.Message{ID: data.Get("messageId").Text(), Text: text, Model: model, Time: at})
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
		d.Facts.State.Waiting = cmp.Or(d.Calls.Waiting(), d.question)
	}
}

// waits is what a person has to do while a call is open.
var waits = engine.Waits{{"ask_user", "an answer to its question"}}

func (d *decode) call(n int, data jsonl.Value, at time.Time) {
	id, tool := data.Get("toolCallId").Text(), data.Get("toolName").Text()
	c := thread.Call{ID: id, Name: tool, Time: at}
	for _, a := range d.Mentions() {
		if tool == "task" && (a.ID == id || (len(a.Aliases) > 0 && a.Aliases[0] == id)) {
			c.Agent = a.ID
		}
	}
	d.Called(n, c, data.Get("arguments"), waits)
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
	if d.usage.shutdown(d.Scan, data); len(d.usage.last) == 1 {
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

// subagent decodes an event about a subagent.
func (d *decode) subagent(kind, id string, data jsonl.Value, n int, at time.Time) {
	call := data.Get("toolCallId").Text()
	id, status := cmp.Or(id, call), map[string]thread.Status{"subagent.started": thread.Running,
		"subagent.completed": thread.Completed, "subagent.failed": thread.Errored}[kind]
	if status == "" || id == "" {
		return
	}
	d.At(at)
	a := d.Agent(id)
	a.Reader = &engine.Reader{Source: source(d.path), New: decoder(d.path, d.session, id)}
	if kind == "subagent.started" {
		a.Role, a.Name = data.Get("agentName").Text(), cmp.Or(d.names[call], data.Get("agentDisplayName").Text())
		if call != id && a.Aliases == nil {
			a.Aliases = []string{call}
		}
		a.Evidence = []string{"the parent's events are about it"}
	}
	a.State = thread.ReadState(status, thread.Parent, at, "%s, line %d", kind, n)
	a.AddEvent(at, strings.ReplaceAll(kind, ".", "_"), thread.Brief(data.Get("error").Text()))
	d.usage.others = true
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	if d.usage.finish(d.Scan, d.agent != ""); !d.started {
		d.Gaps = append(d.Gaps, thread.Gap{N: 1, Reason: "session.start is missing: the file may contain several threads"})
	}
}
