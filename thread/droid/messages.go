package droid

import (
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the records of a session.
type decode struct {
	*engine.Scan
	settings jsonl.Value
	model    string // of the last answer
	answers  int
	question string // what the last answer waits for
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at := m.Get("timestamp").Time()
	d.At(at)
	switch string(m.Get("type").Raw()) {
	case "message":
		message := m.Get("message")
		if message.Get("role").Is("assistant") {
			d.answer(n, message)
		} else {
			d.user(n, message)
		}
	case "compaction_state":
		d.Compacted(m.Get("summaryText").Text(), at)
	case "agent_turn_outcome":
		switch reason := m.Get("reason").Text(); reason {
		case "completed":
			d.State(thread.Completed, at, "agent_turn_outcome completed, line %d", n)
			d.Facts.State.Waiting = d.question
		default:
			d.State(thread.Errored, at, "agent_turn_outcome %s, line %d", thread.Brief(reason), n)
		}
	}
}

// user decodes a prompt, or the results of calls.
func (d *decode) user(n int, message jsonl.Value) {
	m, content := &d.Members, message.Get("content")
	at := m.Get("timestamp").Time()
	for c := content.Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("tool_result") {
			d.Result(n, b.Get("tool_use_id").Text(), at, func(c *thread.Call) {
				c.Output, c.Failed = thread.Clip(engine.Output(b.Get("content"))), b.Get("is_error").True()
			})
		}
	}
	if text := prompt(content); text != "" && !message.Get("visibility").Is("llm_only") {
		d.Prompt(n, thread.Message{ID: m.Get("id").Text(), Text: text, Time: at})
	}
}

const reminder = "</system-reminder>"

// prompt returns the text of a prompt without the reminders that the tool adds.
func prompt(content jsonl.Value) string {
	text := engine.Text(content)
	for strings.HasPrefix(text, "<system-reminder>") {
		_, rest, ok := strings.Cut(text, reminder)
		if !ok {
			return ""
		}
		text = strings.TrimSpace(rest)
	}
	return text
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, message jsonl.Value) {
	m, content := &d.Members, message.Get("content")
	at := m.Get("timestamp").Time()
	d.answers++
	if model := message.Get("modelId").Text(); model != "" {
		d.model = model
	}
	for c := content.Elements(); c.Next(); {
		d.Timeline.AddThinking(c.Value().Get("thinking").Text())
	}
	text := engine.Text(content)
	d.question = thread.WaitingFor(text)
	d.Answer(thread.Message{ID: m.Get("id").Text(), Text: text, Model: d.model, Time: at})
	d.Infer(thread.Running, at, "the outcome of the turn is not recorded, line %d", n)
	for c := content.Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("tool_use") {
			d.Called(n, thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(), Time: at},
				b.Get("input"), waits)
		}
	}
}

// waits is what a person has to do while a call of a tool is open.
var waits = engine.Waits{{"AskUser", "an answer to its question"}, {"ExitSpecMode", "an answer to its question"}}

// Finish implements engine.Decoder. The only usage is the total in the settings.
func (d *decode) Finish() {
	var n [5]int64
	v := d.settings.Get("tokenUsage")
	v.Counts([]string{"inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "thinkingTokens"}, n[:])
	t := thread.Tokens{Input: n[0], Output: n[1], CacheWrite: n[2], CacheRead: n[3], Reasoning: n[4]}
	if t.Reasoning > t.Output {
		t.Output += t.Reasoning
	}
	if t.Total() == 0 {
		return
	}
	if d.model == "" {
		d.model = d.settings.Get("model").Text()
	}
	t.Calls = max(1, d.answers)
	d.Meter.CheckCounts(v)
	d.Meter.Add("", d.model, t, false)
	d.Gaps = []thread.Gap{{N: 1, Reason: "only the total of the session is recorded, for all models and requests"}}
}
