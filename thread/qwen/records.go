package qwen

import (
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the records of a chat.
type decode struct {
	*engine.Scan
	subagent bool
	uuid     string        // of the answer that is read, which may have several records
	model    string        // of that answer
	tokens   thread.Tokens // of that answer
	silent   int           // answers without usage
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at, kind := m.Get("timestamp").Time(), string(m.Get("type").Raw())
	if kind != "assistant" || d.uuid == "" || m.Get("uuid").Text() != d.uuid {
		d.count() // at the time of the last answer, as all of it is known
	}
	d.At(at)
	switch kind {
	case "user":
		d.user(n, at)
	case "assistant":
		d.answer(n, at)
	case "tool_result":
		d.results(n, at)
	case "system":
		d.system(n, at)
	}
}

// user decodes a message of the user, or one that the tool reports as such.
func (d *decode) user(n int, at time.Time) {
	m := &d.Members
	text := strings.TrimSpace(m.Get("systemPayload", "displayText").Text())
	if text == "" {
		text = parts(m.Get("message", "parts"))
	}
	switch string(m.Get("subtype").Raw()) {
	case "", "mid_turn_user_message":
		d.Prompt(n, thread.Message{ID: m.Get("uuid").Text(), Text: text, Time: at})
	default:
		d.Note(text, at)
	}
}

// answer decodes an answer of the model, or a further part of the last one.
func (d *decode) answer(n int, at time.Time) {
	m := &d.Members
	uuid, list := m.Get("uuid").Text(), m.Get("message", "parts")
	d.uuid = uuid
	if model := m.Get("model").Text(); model != "" {
		d.model = model
	}
	if tokens, ok := usage(m.Get("usageMetadata")); ok {
		d.Meter.CheckCounts(m.Get("usageMetadata"))
		d.tokens = tokens // of all parts so far
	}
	for c := list.Elements(); c.Next(); {
		if p := c.Value(); p.Get("thought").True() {
			d.Timeline.AddThinking(p.Get("text").Text())
		}
	}
	text := parts(list)
	d.Timeline.Add(thread.Message{ID: uuid, Role: thread.Assistant, Text: text, Model: d.model, Time: at})
	d.Infer(thread.Completed, at, "an answer without calls so far, line %d", n)
	d.Facts.State.Waiting = thread.WaitingFor(text)
	for c := list.Elements(); c.Next(); {
		if f := c.Value().Get("functionCall"); f.Kind() == jsonl.Object {
			call := thread.Call{ID: f.Get("id").Text(), Name: f.Get("name").Text(), Time: at}
			if d.Timeline.Detail == thread.Tools {
				call.Input = thread.Clip(f.Get("args").Compact())
			}
			d.Call(n, call, waits(call.Name))
		}
	}
}

// waits returns what a person has to do while a call of a tool is open.
func waits(tool string) string {
	switch tool {
	case "ask_user_question":
		return "an answer to its question"
	case "exit_plan_mode":
		return "approval of its plan"
	}
	return ""
}

// results decodes the results of calls.
func (d *decode) results(n int, at time.Time) {
	result := d.Members.Get("toolCallResult")
	status := string(result.Get("status").Raw())
	for c := d.Members.Get("message", "parts").Elements(); c.Next(); {
		f := c.Value().Get("functionResponse")
		id := f.Get("id").Text()
		d.Result(n, id, at, func(c *thread.Call) {
			response := f.Get("response")
			output := response.Get("output")
			if output.Kind() == jsonl.Absent {
				output = response.Get("error")
			}
			c.Output = thread.Clip(engine.Output(output))
			c.Failed = status == "error" || status == "cancelled" || result.Get("resultDisplay", "exitCode").Int() != 0
		})
		if display := result.Get("resultDisplay"); display.Get("type").Is("task_execution") {
			d.ran(n, id, display, at)
		}
	}
	if status == "cancelled" {
		d.State(thread.Errored, at, "interrupted: a call was cancelled, line %d", n)
	}
}

// ran decodes the result of a call that ran a subagent.
func (d *decode) ran(n int, call string, display jsonl.Value, at time.Time) {
	kind := display.Get("subagentName").Text()
	a := d.Agent(kind + "-" + call)
	a.Name, a.Aliases = kind, []string{call}
	a.Evidence = []string{"the result of a call names it"}
	status, end := string(display.Get("status").Raw()), display.Get("terminateReason").Text()
	state := thread.Errored
	switch {
	case status == "running":
		state = thread.Running
	case status == "completed" && (end == "GOAL" || end == ""):
		state = thread.Completed
	}
	a.State = thread.ReadState(state, thread.Parent, at, "the call of %s has status %q, ended with %q, line %d", kind,
		status, end, n)
	a.AddEvent(at, "run_"+kind, status)
}

// system decodes a record of the tool.
func (d *decode) system(n int, at time.Time) {
	payload := d.Members.Get("systemPayload")
	switch string(d.Members.Get("subtype").Raw()) {
	case "ui_telemetry":
		event := payload.Get("uiEvent")
		own := d.subagent || event.Get("subagent_id").Kind() == jsonl.Absent &&
			strings.Contains(event.Get("prompt_id").Text(), "########")
		if own && event.Get("event.name").Is("qwen-code.api_error") {
			message := event.Get("error_message").Text()
			d.Note("The request failed. "+message, at)
			d.State(thread.Errored, at, "the request failed: %s, line %d", thread.Brief(message), n)
		}
	case "chat_compression":
		d.Compacted("", at)
	case "rewind":
		d.Note("The thread was rewound.", at)
	}
}

// count counts the usage of the last answer.
func (d *decode) count() {
	switch {
	case d.tokens != (thread.Tokens{}):
		d.tokens.Calls = 1
		d.Meter.Add("", d.model, d.tokens, false)
		d.Timeline.AddUsage(d.tokens)
	case d.uuid != "" && !d.subagent:
		d.silent++
		d.Meter.Add("", d.model, thread.Tokens{}, false)
	}
	d.uuid, d.model, d.tokens = "", "", thread.Tokens{}
}

// usage returns the tokens of a usageMetadata. Cached tokens are part of the prompt.
// Thoughts are part of the candidates, unless the total shows that they are not.
func usage(v jsonl.Value) (t thread.Tokens, ok bool) {
	var n [5]int64
	v.Counts([]string{"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount",
		"totalTokenCount"}, n[:])
	t = thread.Tokens{Input: max(0, n[0]-n[3]), CacheRead: n[3], Output: n[1], Reasoning: n[2]}
	if n[2] > 0 && (n[4] == n[0]+n[1]+n[2] || n[2] > n[1]) {
		t.Output += n[2]
	}
	return t, t.Total() > 0
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	d.count()
	d.Gaps = []thread.Gap{{N: d.silent, Reason: "%d answers have no recorded usage"}}
}

// parts returns the text of the parts of a message, without thoughts.
func parts(v jsonl.Value) string {
	var texts []string
	for c := v.Elements(); c.Next(); {
		p := c.Value()
		if p.Get("thought").True() {
			continue
		}
		for _, data := range []string{"inlineData", "fileData"} {
			if kind := p.Get(data, "mimeType").Text(); kind != "" {
				kind, _, _ = strings.Cut(kind, "/")
				texts = append(texts, "["+kind+"]")
			}
		}
		if text := strings.TrimSpace(p.Get("text").Text()); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}
