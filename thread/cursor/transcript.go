package cursor

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the lines of a transcript. Calls have no IDs; results, which only
// some versions write, belong to them in order.
type decode struct {
	*engine.Scan
	calls   []string // IDs of the calls without a result, in order
	answers int
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	content := v.Get("message", "content")
	switch {
	case v.Get("role").Is("user"):
		d.results(n, content)
		if text := prompt(engine.Text(content)); text != "" {
			d.calls = nil
			d.Prompt(n, thread.Message{Text: text})
		}
	case v.Get("role").Is("assistant"):
		d.answer(n, content)
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

// redacted is written in place of thinking.
const redacted = "[REDACTED]"

// ended notes that the calls before an answer, or before the end of a turn that completed, are over. Newer
// versions do not record their results.
func (d *decode) ended() {
	for _, id := range d.calls {
		d.Timeline.SetResult(id, func(c *thread.Call) { c.Inferred = true })
	}
	d.calls = nil
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, content jsonl.Value) {
	d.answers++
	for c := content.Elements(); c.Next(); {
		d.Timeline.AddThinking(c.Value().Get("thinking").Text())
	}
	text := strings.TrimSpace(strings.TrimSuffix(engine.Text(content), redacted))
	d.Timeline.Add(thread.Message{Role: thread.Assistant, Text: text})
	ending(d.Scan, text, time.Time{}, "line", n)
	d.ended()
	for c := content.Elements(); c.Next(); {
		p := c.Value()
		if !p.Get("type").Is("tool_use") && !p.Get("type").Is("tool_call") {
			continue
		}
		id := p.Get("id").Text()
		if id == "" {
			id = fmt.Sprintf("%d.%d", n, len(d.calls))
		}
		d.calls = append(d.calls, id)
		d.Call(n, thread.Call{ID: id, Name: p.Get("name").Text(), Input: thread.Clip(p.Get("input").Compact())}, "")
	}
}

// ending sets the state after an answer whose text may be its end. Thinking is not.
func ending(s *engine.Scan, text string, at time.Time, unit string, n int) {
	if text == "" {
		s.Infer(thread.Running, at, "an answer without text so far, %s %d", unit, n)
		return
	}
	s.Infer(thread.Completed, at, "an answer without calls so far, %s %d", unit, n)
	s.Facts.State.Waiting, s.Facts.State.NoEnd = thread.WaitingFor(text), true
}

// results decodes the results of calls.
func (d *decode) results(n int, content jsonl.Value) {
	for c := content.Elements(); c.Next(); {
		p := c.Value()
		if kind := p.Get("type"); !kind.Is("tool_result") && !kind.Is("tool-result") || len(d.calls) == 0 {
			continue
		}
		id := d.calls[0]
		d.calls = d.calls[1:]
		d.Result(n, id, time.Time{}, func(c *thread.Call) {
			c.Output, c.Failed = thread.Clip(engine.Output(p.Get("content"))), p.Get("is_error").True()
		})
	}
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {}
