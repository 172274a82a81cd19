package cline

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a task. Calls have no IDs; what follows one is its
// result.
type decode struct {
	*engine.Scan
	started bool   // the task was read
	call    string // ID of the last call
	silent  int    // requests without usage
	model   string
	used    thread.Tokens // by the last request, whose answer follows it
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	at := v.Get("ts").Timestamp()
	d.At(at)
	if model := v.Get("modelInfo", "modelId").Text(); model != "" {
		d.model = model
	}
	text := strings.TrimSpace(v.Get("text").Text())
	if v.Get("type").Is("ask") {
		d.ask(n, string(v.Get("ask").Raw()), text, at)
	} else {
		d.say(n, string(v.Get("say").Raw()), text, at)
	}
}

// say decodes a message of the task.
func (d *decode) say(n int, kind, text string, at time.Time) {
	switch kind {
	case "task", "user_feedback", "user_feedback_diff":
		d.prompt(n, text, at)
	case "text":
		if !d.started { // the first text is the task
			d.prompt(n, text, at)
			return
		}
		d.answer(n, text, at)
	case "completion_result", "plan_completion_result":
		d.answer(n, text, at)
		d.State(thread.Completed, at, "%s, message %d", kind, n)
		d.Facts.State.Waiting = thread.WaitingFor(text)
	case "reasoning":
		d.Timeline.AddThinking(text)
	case "api_req_started":
		d.request(n, jsonl.Value(text), at)
	case "deleted_api_reqs":
		d.usage(jsonl.Value(text), false)
	case "condense_context", "compaction", "sliding_window_truncation":
		d.Compacted("", at)
	case "error", "diff_error", "clineignore_error":
		d.Note(text, at)
	default:
		d.tool(n, kind, text, "", at)
	}
}

// ask decodes a message that a person has to answer.
func (d *decode) ask(n int, kind, text string, at time.Time) {
	wait := func(s thread.Status, what string) {
		d.State(s, at, "%s, message %d", kind, n)
		d.Facts.State.Waiting = what
	}
	switch kind {
	case "followup", "plan_mode_respond", "act_mode_respond":
		d.answer(n, question(text), at)
		wait(thread.Running, "an answer to its question")
	case "completion_result":
		if text != "" {
			d.answer(n, text, at)
		}
		wait(thread.Completed, d.Facts.State.Waiting)
	case "api_req_failed":
		d.Note("The request failed. "+text, at)
		wait(thread.Errored, "")
	case "mistake_limit_reached", "auto_approval_max_req_reached":
		wait(thread.Running, "a decision whether to continue")
	case "resume_task":
		wait(thread.Errored, "")
		d.Facts.State.Evidence = "interrupted: " + d.Facts.State.Evidence
	case "resume_completed_task":
		wait(thread.Completed, "")
	default:
		d.tool(n, kind, text, "approval of "+kind, at)
	}
}

// question returns the text of a question, which may be JSON.
func question(text string) string {
	for _, member := range []string{"question", "response"} {
		if q := jsonl.Value(text).Get(member).Text(); q != "" {
			return q
		}
	}
	return text
}

func (d *decode) prompt(n int, text string, at time.Time) {
	d.started = true
	d.addUsage()
	d.Prompt(n, thread.Message{Text: text, Time: at})
}

func (d *decode) answer(n int, text string, at time.Time) {
	d.Answer(thread.Message{Text: text, Model: d.model, Time: at})
	d.addUsage()
	d.State(thread.Running, at, "no completion_result yet, message %d", n)
}

// tool decodes a call, or the output of the last one.
func (d *decode) tool(n int, kind, text, waiting string, at time.Time) {
	switch kind {
	case "command_output", "mcp_server_response", "browser_action_result":
		if d.call != "" {
			d.Result(n, d.call, at, func(c *thread.Call) { c.Output = thread.Clip(text) })
			d.call = ""
		}
		return
	case "tool", "command", "use_mcp_server", "browser_action_launch", "browser_action", "use_subagents":
	default:
		return
	}
	c := thread.Call{ID: fmt.Sprint(n), Name: kind, Input: thread.Clip(text), Time: at}
	if name := jsonl.Value(text).Get("tool").Text(); name != "" {
		c.Name = name
	}
	d.call = c.ID
	d.Call(n, c, waiting)
	if kind == "tool" && waiting == "" { // approved; its output is part of it
		d.Result(n, c.ID, at, func(c *thread.Call) { c.Output = thread.Clip(jsonl.Value(text).Get("content").Text()) })
		d.call = ""
	}
}

// request decodes a request, whose message has its usage once it ended. What was
// asked before it was answered.
func (d *decode) request(n int, v jsonl.Value, at time.Time) {
	d.Calls, d.call = nil, ""
	d.usage(v, true)
	switch reason := v.Get("cancelReason").Text(); reason {
	case "":
		d.State(thread.Running, at, "api_req_started, message %d", n)
	case "user_cancelled":
		d.State(thread.Errored, at, "interrupted: the request was cancelled, message %d", n)
	default:
		d.Note("The request failed. "+v.Get("streamingFailedMessage").Text(), at)
		d.State(thread.Errored, at, "the request failed: %s, message %d", thread.Brief(reason), n)
	}
}

// members are the counts of a request.
var members = []string{"tokensIn", "tokensOut", "cacheReads", "cacheWrites"}

// usage counts the usage of a request, or of requests that were removed.
func (d *decode) usage(v jsonl.Value, one bool) {
	var n [4]int64
	v.Counts(members, n[:])
	t := thread.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3], Calls: 1,
		Cost: v.Get("cost").Amount()}
	switch {
	case t.Total() > 0:
		for _, member := range members {
			d.Meter.CheckCounts(v.Get(member))
		}
		d.Meter.Add("", d.model, t, false)
		d.addUsage()
		d.used = t
	case one:
		d.silent++
	}
}

// addUsage adds what the last request used to its answer, or to what is before it.
func (d *decode) addUsage() {
	if d.used != (thread.Tokens{}) {
		d.Timeline.AddUsage(d.used)
		d.used = thread.Tokens{}
	}
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	d.addUsage()
	d.Gaps = []thread.Gap{{N: d.silent, Reason: "%d requests have no recorded usage"}}
}
