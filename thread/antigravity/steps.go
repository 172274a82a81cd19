package antigravity

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const invoke = "INVOKE_SUBAGENT"

// A decode decodes the steps of a thread.
type decode struct {
	*engine.Scan
	model     string
	calls     []string // IDs of the calls without a result, in order
	shortened int      // steps that the tool shortened
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at := m.Get("created_at").Time()
	d.At(at)
	for c := m.Get("truncated_fields").Elements(); c.Next(); {
		d.shortened++
		break
	}
	content := m.Get("content").Text()
	switch kind := string(m.Get("type").Raw()); {
	case kind == "USER_INPUT":
		d.user(n, content, at)
	case kind == "PLANNER_RESPONSE":
		d.answer(n, content, at)
	case kind == "ERROR_MESSAGE":
		d.Note(content, at)
		d.State(thread.Errored, at, "%s, line %d", thread.Brief(content), n)
	case kind == "SYSTEM_MESSAGE":
		d.message(n, content, at)
	case m.Get("source").Is("MODEL"):
		d.result(n, content, m.Get("status").Is("ERROR"), at)
		if kind == invoke {
			d.invoked(n, content, at)
		}
	}
}

// between returns the text of an element, s itself if it has none.
func between(s, tag string) string {
	_, rest, ok := strings.Cut(s, "<"+tag+">")
	if !ok {
		return strings.TrimSpace(s)
	}
	text, _, _ := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(text)
}

// user decodes a prompt, to which the tool adds the time and changes of settings.
func (d *decode) user(n int, content string, at time.Time) {
	if _, change, ok := strings.Cut(content, "`Model Selection` from "); ok {
		if _, model, ok := strings.Cut(change, " to "); ok {
			d.model, _, _ = strings.Cut(model, ". No need")
		}
	}
	d.Prompt(n, thread.Message{Text: between(content, "USER_REQUEST"), Time: at})
}

// answer decodes an answer of the model, with calls that have no IDs.
func (d *decode) answer(n int, content string, at time.Time) {
	m := &d.Members
	d.Timeline.AddThinking(m.Get("thinking").Text())
	content = strings.TrimSpace(content)
	if d.Answered(n, thread.Message{Text: content, Model: d.model, Time: at}); content == "" {
		d.State(thread.Running, at, "an empty answer, line %d", n)
	}
	d.Calls, d.calls = nil, nil
	for c := m.Get("tool_calls").Elements(); c.Next(); {
		id := fmt.Sprintf("%d.%d", n, len(d.calls))
		d.calls = append(d.calls, id)
		d.Called(n, thread.Call{ID: id, Name: c.Value().Get("name").Text(), Time: at}, c.Value().Get("args"), nil)
	}
}

// result decodes the result of the first call that has none.
func (d *decode) result(n int, content string, failed bool, at time.Time) {
	if len(d.calls) == 0 {
		return
	}
	id := d.calls[0]
	d.calls = d.calls[1:]
	d.Result(n, id, at, func(c *thread.Call) { c.Output, c.Failed = thread.Clip(strings.TrimSpace(content)), failed })
}

// invoked decodes the result of a call that started subagents.
func (d *decode) invoked(n int, content string, at time.Time) {
	for _, id := range conversations(content) {
		a := d.Agent(id)
		a.Evidence = []string{"the result of a call names it"}
		a.State = thread.ReadState(thread.Running, thread.Parent, at, "%s, line %d", invoke, n)
		a.AddEvent(at, "invoke_subagent", "")
	}
}

// message decodes a message to the agent, which may be from a subagent.
func (d *decode) message(n int, content string, at time.Time) {
	text := between(content, "SYSTEM_MESSAGE")
	d.Note(text, at)
	_, sender, _ := strings.Cut(text, "sender=")
	sender, _, _ = strings.Cut(sender, " ")
	for _, a := range d.Mentions() {
		if a.ID == sender {
			a.AddEvent(at, "message", "")
			d.State(thread.Running, at, "a message of a subagent has no answer yet, line %d", n)
		}
	}
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	if d.shortened > 0 {
		d.Facts.Warn("the tool shortened %d messages; its transcript_full.jsonl may have them", d.shortened)
	}
}
