package goose

import (
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a session: rows, or lines of a file.
type decode struct {
	*engine.Scan
	session jsonl.Value
	answers int
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	created := m.Get("created_timestamp")
	content := jsonl.Value(m.Get("content_json").Text())
	if len(content) == 0 {
		created, content = m.Get("created"), m.Get("content")
	}
	at := created.Timestamp()
	d.At(at)
	id := m.Get("message_id").Text()
	switch role := m.Get("role"); {
	case role.Is("user"):
		d.user(n, id, content, at)
	case role.Is("assistant"):
		d.answer(n, id, content, at)
	}
}

// user decodes a prompt, the results of calls, or a message that the tool added, which
// the user does not see.
func (d *decode) user(n int, id string, content jsonl.Value, at time.Time) {
	for c := content.Elements(); c.Next(); {
		if p := c.Value(); p.Get("type").Is("toolResponse") {
			d.result(n, p, at)
		}
	}
	visible := jsonl.Value(d.Members.Get("metadata_json").Text()).Get("userVisible")
	if visible.Kind() == jsonl.Bool && !visible.True() {
		return
	}
	if text := engine.Text(content); text != "" {
		d.Prompt(n, thread.Message{ID: id, Text: text, Time: at})
	}
}

// result decodes the result of a call.
func (d *decode) result(n int, p jsonl.Value, at time.Time) {
	result := p.Get("toolResult")
	d.Result(n, p.Get("id").Text(), at, func(c *thread.Call) {
		value := result.Get("value")
		output := value.Get("content")
		if output.Kind() == jsonl.Absent {
			output = value
		}
		if c.Output = thread.Clip(engine.Output(output)); c.Output == "" {
			c.Output = thread.Clip(result.Get("error").Plain())
		}
		c.Failed = result.Get("status").Is("error") || value.Get("isError").True()
	})
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, id string, content jsonl.Value, at time.Time) {
	d.answers++
	for c := content.Elements(); c.Next(); {
		d.Timeline.AddThinking(c.Value().Get("thinking").Text())
	}
	text := engine.Text(content)
	d.Answer(thread.Message{ID: id, Text: text, Model: d.model(), Time: at})
	d.Infer(thread.Completed, at, "an answer without calls so far")
	d.Facts.State.Waiting = thread.WaitingFor(text)
	for c := content.Elements(); c.Next(); {
		p := c.Value()
		switch string(p.Get("type").Raw()) {
		case "toolRequest", "frontendToolRequest":
			call := p.Get("toolCall", "value")
			d.Called(n, thread.Call{ID: p.Get("id").Text(), Name: call.Get("name").Text(), Time: at},
				call.Get("arguments"), nil)
		case "toolConfirmationRequest", "actionRequired":
			d.Facts.State.Status, d.Facts.State.Waiting = thread.Running, "permission for a call"
		case "systemNotification":
			d.Note(p.Get("msg").Text(), at)
		}
	}
}

// model returns the model of the session.
func (d *decode) model() string {
	return jsonl.Value(d.session.Get("model_config_json").Text()).Get("model_name").Text()
}

// Finish implements engine.Decoder. The session has the only usage. Its input includes
// cached tokens.
func (d *decode) Finish() {
	var n [4]int64
	d.session.Counts([]string{"accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens",
		"accumulated_cache_write_tokens"}, n[:])
	t := thread.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3],
		Cost: d.session.Get("accumulated_cost").Amount()}
	if cached := t.CacheRead + t.CacheWrite; cached <= t.Input {
		t.Input -= cached
	}
	if t.Total() == 0 {
		return
	}
	t.Calls = max(1, d.answers)
	d.Meter.Add(strings.TrimSpace(d.session.Get("provider_name").Text()), d.model(), t, false)
	d.Gaps = []thread.Gap{{N: 1, Reason: "only the total of the session is recorded, for all requests"}}
}
