package cursor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a transcript, or of a database of the command line agent. Calls in
// transcripts have no IDs; results, which only some versions write, belong to them in order.
type decode struct {
	*engine.Scan
	model string
	calls []string // those without an ID and a result, in order
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	content := v.Get("message", "content")
	if content.Kind() == jsonl.Absent {
		content = v.Get("content")
	}
	switch {
	case v.Get("providerOptions", "cursor", "isSummary").True():
		d.Compacted(engine.Text(content), time.Time{})
	case v.Get("role").Is("user"):
		d.results(n, content)
		if text := prompt(engine.Text(content)); text != "" {
			d.calls = nil
			d.Prompt(n, thread.Message{ID: v.Get("id").Text(), Text: text})
		}
	case v.Get("role").Is("assistant"):
		d.answer(n, v.Get("id").Text(), content)
	case v.Get("role").Is("tool"):
		d.results(n, content)
	case v.Get("type").Is("turn_ended"):
		if status := v.Get("status").Text(); status == "success" || status == "completed" {
			d.ended()
			question := d.Facts.State.Waiting
			d.State(thread.Completed, time.Time{}, "turn_ended with status %s, line %d", status, n)
			d.Facts.State.Waiting = question
		} else {
			d.State(thread.Errored, time.Time{}, "turn_ended with status %s, line %d", thread.Brief(status), n)
		}
	}
}

// prompt returns the text that the user typed, which the tool marks.
func prompt(text string) string {
	if _, rest, ok := strings.Cut(text, "<user_query>"); ok {
		text, _, _ = strings.Cut(rest, "</user_query>")
	}
	return strings.TrimSpace(text)
}

// ended notes that the calls before an answer, or before the end of a turn that completed, are over. Newer
// versions do not record their results.
func (d *decode) ended() {
	for _, id := range d.calls {
		d.Timeline.SetResult(id, func(c *thread.Call) { c.Inferred = true })
	}
	d.calls = nil
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, id string, content jsonl.Value) {
	const redacted = "[REDACTED]" // is written in place of thinking
	model := d.model
	for c := content.Elements(); c.Next(); {
		p := c.Value()
		d.Timeline.AddThinking(p.Get("thinking").Text())
		if p.Get("type").Is("reasoning") {
			d.Timeline.AddThinking(p.Get("text").Text())
		}
		model = cmp.Or(p.Get("providerOptions", "cursor", "modelName").Text(), model)
	}
	text := strings.TrimSpace(strings.TrimSuffix(engine.Text(content), redacted))
	said(d.Scan, n, thread.Message{ID: id, Text: text, Model: model})
	d.ended()
	for c := content.Elements(); c.Next(); {
		switch p := c.Value(); string(p.Get("type").Raw()) {
		case "tool_use", "tool_call":
			id := p.Get("id").Text()
			if id == "" {
				id = fmt.Sprintf("%d.%d", n, len(d.calls))
			}
			d.calls = append(d.calls, id)
			d.Called(n, thread.Call{ID: id, Name: p.Get("name").Text()}, p.Get("input"), nil)
		case "tool-call":
			d.Called(n, thread.Call{ID: p.Get("toolCallId").Text(), Name: p.Get("toolName").Text()}, p.Get("args"), nil)
		}
	}
}

// said adds an answer whose text may be its end. Thinking is not.
func said(s *engine.Scan, n int, m thread.Message) {
	s.Answered(n, m)
	s.Facts.State.NoEnd = true
	if m.Text == "" {
		s.Infer(thread.Running, m.Time, "an answer without text so far, %s %d", s.Unit, n)
	}
}

// results decodes the results of calls.
func (d *decode) results(n int, content jsonl.Value) {
	for c := content.Elements(); c.Next(); {
		p := c.Value()
		if id := p.Get("toolCallId").Text(); id != "" {
			d.Result(n, id, time.Time{}, func(c *thread.Call) {
				c.Output, c.Failed = thread.Clip(p.Get("result").Plain()), p.Get("isError").True()
			})
			continue
		}
		if kind := p.Get("type"); (!kind.Is("tool_result") && !kind.Is("tool-result")) || len(d.calls) == 0 {
			continue
		}
		id := d.calls[0]
		d.calls = d.calls[1:]
		d.Result(n, id, time.Time{}, func(c *thread.Call) {
			c.Output, c.Failed = thread.Clip(engine.Output(p.Get("content"))), p.Get("is_error").True()
		})
	}
}
