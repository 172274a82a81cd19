package kimi

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the journal of an agent. An answer is several records, of which
// only those of a loop event are used: other records repeat them.
type decode struct {
	*engine.Scan
	model    string            // of the last request
	provider string            // of the last request
	models   map[string]string // by alias
	question string            // what the last answer waits for
	ended    bool              // the end of turns is recorded
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at := m.Get("time").Timestamp()
	d.At(at)
	switch kind := string(m.Get("type").Raw()); kind {
	case "metadata":
		d.ended = endsTurns(m.Get("protocol_version").Text())
	case "context.append_message":
		d.message(n, m.Get("message"), at)
	case "context.append_loop_event":
		d.event(n, m.Get("event"), at)
	case "turn.prompt", "turn.steer":
		d.State(thread.Running, at, "%s, line %d", kind, n)
	case "turn.cancel":
		d.State(thread.Errored, at, "interrupted: turn.cancel, line %d", n)
	case "turn.ended":
		d.ended = true
		d.end(n, string(m.Get("reason").Raw()), at)
	case "llm.request":
		d.model, d.provider = m.Get("model").Text(), m.Get("provider").Text()
		d.models[m.Get("modelAlias").Text()] = d.model
	case "usage.record":
		d.usage(m.Get("usage"), m.Get("model").Text())
	case "full_compaction.begin":
		d.StartCompaction(at, "full_compaction.begin, line %d", n)
	case "full_compaction.complete", "full_compaction.cancel":
		d.EndCompaction()
	case "context.apply_compaction":
		d.Compacted(m.Get("summary").Text(), at)
	case "context.undo", "context.clear":
		d.Note("The thread was rewound.", at)
	case "subagent.spawned", "subagent.started", "subagent.completed", "subagent.failed":
		d.subagent(n, kind, at)
	case "agent.message.appended", "agent.turn.started", "agent.turn.ended", "config.update", "hello",
		"llm.tools_snapshot", "mcp.tools_discovered", "permission.record_approval_result", "permission.set_mode",
		"plan_mode.enter", "plan_mode.exit", "plugin.session_start", "profile.bind", "prompt.completed",
		"runtime.set_binding", "token_counting.measured", "token_counting.turn_recorded", "tools.set_active_tools":
	default:
		d.Unknown(kind, v)
	}
}

// endsTurns reports whether a version of the protocol has turn.ended.
func endsTurns(version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	m, err := strconv.Atoi(minor)
	return err == nil && (major != "1" || m >= 5)
}

// message decodes a message of the user. Others of this role are from the tool.
func (d *decode) message(n int, v jsonl.Value, at time.Time) {
	if !v.Get("role").Is("user") {
		return
	}
	switch string(v.Get("origin", "kind").Raw()) {
	case "user", "system_trigger", "skill_activation", "plugin_command", "":
		d.Prompt(n, thread.Message{ID: v.Get("id").Text(), Text: engine.Text(v.Get("content")), Time: at})
	}
}

// event decodes what the model made.
func (d *decode) event(n int, v jsonl.Value, at time.Time) {
	switch string(v.Get("type").Raw()) {
	case "content.part":
		d.Timeline.AddThinking(v.Get("part", "think").Text())
		text := engine.Text(jsonl.Value("[" + string(v.Get("part")) + "]"))
		d.question = thread.WaitingFor(text)
		d.Answer(thread.Message{ID: v.Get("uuid").Text(), Text: text, Model: d.model, Time: at})
	case "tool.call":
		d.Called(n, thread.Call{ID: v.Get("toolCallId").Text(), Name: v.Get("name").Text(), Time: at},
			v.Get("args"), waits)
	case "tool.result":
		result := v.Get("result")
		d.Result(n, v.Get("toolCallId").Text(), at, func(c *thread.Call) {
			c.Output, c.Failed = thread.Clip(engine.Output(result.Get("output"))), result.Get("isError").True()
		})
	case "step.begin":
		d.question = ""
		d.State(thread.Running, at, "step.begin, line %d", n)
	case "step.end":
		d.step(n, string(v.Get("finishReason").Raw()), at)
	}
}

// waits is what a person has to do while a call of a tool is open.
var waits = engine.Waits{{"AskUserQuestion", "an answer to its question"}, {"ExitPlanMode", "approval of its plan"}}

// step decodes the end of a request. Old journals have no record of the end of a turn.
func (d *decode) step(n int, reason string, at time.Time) {
	switch reason {
	case "tool_use", "tool_calls":
	case "error":
		d.State(thread.Errored, at, "step.end with finishReason error, line %d", n)
	default:
		if !d.ended {
			d.State(thread.Completed, at, "step.end with finishReason %s, line %d", reason, n)
			d.Facts.State.Waiting = d.question
		}
	}
}

// end decodes the end of a turn.
func (d *decode) end(n int, reason string, at time.Time) {
	if reason == "completed" {
		d.State(thread.Completed, at, "turn.ended with reason completed, line %d", n)
		d.Facts.State.Waiting = d.question
		return
	}
	d.State(thread.Errored, at, "turn.ended with reason %s, line %d", reason, n)
}

// counts are the members of a usage, in disjoint buckets.
var counts = engine.Counts{Input: "inputOther", CacheRead: "inputCacheRead", CacheWrite: "inputCacheCreation",
	Output: "output"}

func (d *decode) usage(v jsonl.Value, alias string) {
	t, ok := d.Tokens(v, &counts)
	if !ok {
		d.Missing("usage")
		return
	}
	d.Use(engine.Use{Provider: d.provider, Model: cmp.Or(d.models[alias], alias), Tokens: t})
}

// subagent decodes a record about a subagent.
func (d *decode) subagent(n int, kind string, at time.Time) {
	m := &d.Members
	id := m.Get("subagentId").Text()
	if id == "" {
		return
	}
	a := d.Agent(id)
	a.Evidence = []string{"the session's journal names it"}
	status, detail := thread.Running, ""
	switch kind {
	case "subagent.spawned":
		a.Role = m.Get("subagentName").Text()
		detail = m.Get("description").Text()
		if call := m.Get("parentToolCallId").Text(); call != "" && a.Aliases == nil {
			a.Aliases = []string{call}
		}
	case "subagent.completed":
		status = thread.Completed
	case "subagent.failed":
		status, detail = thread.Errored, m.Get("error").Text()
	}
	a.State = thread.ReadState(status, thread.Parent, at, "%s, line %d", kind, n)
	a.AddEvent(at, "subagent_"+kind[len("subagent."):], thread.Brief(detail))
}
