package crush

import (
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a session.
type decode struct {
	*engine.Scan
	cost     float64
	provider string // of the last answer
	model    string
	answers  int
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, row jsonl.Value) {
	m := &d.Members
	at := m.Get("created_at").Timestamp()
	d.At(at)
	parts := jsonl.Value(m.Get("parts").Text())
	switch role := m.Get("role"); {
	case m.Get("is_summary_message").Int() != 0:
		d.Compacted(text(parts), at)
	case role.Is("user"):
		d.Prompt(n, thread.Message{ID: m.Get("id").Text(), Text: text(parts), Time: at})
		d.shell(parts, at)
	case role.Is("assistant"):
		d.answer(n, parts, at)
	case role.Is("tool"):
		for c := parts.Elements(); c.Next(); {
			if data := c.Value().Get("data"); c.Value().Get("type").Is("tool_result") {
				d.Result(n, data.Get("tool_call_id").Text(), at, func(c *thread.Call) {
					c.Output, c.Failed = thread.Clip(data.Get("content").Text()), data.Get("is_error").True()
				})
			}
		}
	}
}

// shell adds the commands that the user ran.
func (d *decode) shell(parts jsonl.Value, at time.Time) {
	for c := parts.Elements(); c.Next(); {
		if data := c.Value().Get("data"); c.Value().Get("type").Is("shell_command") {
			d.Timeline.AddCall(thread.Call{
				Name: "shell", Input: thread.Clip(data.Get("command").Text()), Output: thread.Clip(data.Get("output").Text()),
				Failed: data.Get("exit_code").Int() != 0, Time: at,
			})
		}
	}
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, parts jsonl.Value, at time.Time) {
	m := &d.Members
	d.provider, d.model = m.Get("provider").Text(), m.Get("model").Text()
	d.answers++
	d.Meter.Add(d.provider, d.model, thread.Tokens{Calls: 1}, false)
	for c := parts.Elements(); c.Next(); {
		if c.Value().Get("type").Is("reasoning") {
			d.Timeline.AddThinking(c.Value().Get("data", "thinking").Text())
		}
	}
	words := text(parts)
	d.Answer(thread.Message{ID: m.Get("id").Text(), Text: words, Model: d.model, Time: at})
	d.State(thread.Running, at, "the last answer has no end, row %d", n)
	for c := parts.Elements(); c.Next(); {
		data := c.Value().Get("data")
		switch string(c.Value().Get("type").Raw()) {
		case "tool_call":
			d.Called(n, thread.Call{ID: data.Get("id").Text(), Name: data.Get("name").Text(), Time: at},
				data.Get("input"), nil)
		case "finish":
			d.finish(n, data, words, at)
		}
	}
}

// finish decodes the end of an answer.
func (d *decode) finish(n int, data jsonl.Value, words string, at time.Time) {
	if end := data.Get("time").Timestamp(); end.After(at) {
		at = end
		d.At(at)
	}
	switch reason := string(data.Get("reason").Raw()); reason {
	case "tool_use":
	case "end_turn", "max_tokens", "stop":
		d.State(thread.Completed, at, "finish with reason %s, row %d", reason, n)
		d.Facts.State.Waiting = thread.WaitingFor(words)
	case "canceled":
		d.State(thread.Errored, at, "interrupted: finish with reason canceled, row %d", n)
	default:
		message := data.Get("message").Text()
		d.Note("The request failed. "+message, at)
		d.State(thread.Errored, at, "finish with reason %s: %s, row %d", reason, thread.Brief(message), n)
	}
}

// Finish implements engine.Decoder. A session has its cost; its tokens are those of
// the last request only.
func (d *decode) Finish() {
	if d.answers == 0 {
		return
	}
	if d.cost > 0 {
		d.Meter.Add(d.provider, d.model, thread.Tokens{Cost: d.cost}, false)
	}
	d.Gaps = []thread.Gap{
		{N: d.answers, Reason: "the tokens of %d answers are not recorded; the cost includes that of subagents"}}
}

// text returns the text of the parts of a message.
func text(parts jsonl.Value) string {
	var texts []string
	for c := parts.Elements(); c.Next(); {
		switch string(c.Value().Get("type").Raw()) {
		case "text":
			if t := strings.TrimSpace(c.Value().Get("data", "text").Text()); t != "" {
				texts = append(texts, t)
			}
		case "image_url", "binary":
			texts = append(texts, "[file]")
		}
	}
	return strings.Join(texts, "\n\n")
}
