package hermes

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a session.
type decode struct {
	*engine.Scan
	session session
	answers int
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, row jsonl.Value) {
	m := &d.Members
	at := clock(m.Get("timestamp"))
	d.At(at)
	content := text(m.Get("content").Text())
	switch role := m.Get("role"); {
	case m.Get("_compressed_summary").Int() != 0:
		d.Compacted(content, at)
	case role.Is("user") && m.Get("display_kind").Text() == "" && !strings.HasPrefix(content, batch):
		d.Prompt(n, thread.Message{Text: content, Time: at})
	case role.Is("user"):
		d.Note(content, at)
		d.State(thread.Running, at, "a message of the tool has no answer yet, row %d", n)
	case role.Is("assistant"):
		d.answer(n, content)
	case role.Is("tool"):
		d.Result(n, m.Get("tool_call_id").Text(), at,
			func(c *thread.Call) { c.Output = thread.Clip(m.Get("content").Text()) })
	}
}

// batch is the beginning of the message with the results of subagents, which the tool
// adds as a message of the user.
const batch = "[ASYNC DELEGATION BATCH COMPLETE"

// text returns a content: text, or a list of parts as JSON.
func text(content string) string {
	if strings.HasPrefix(content, "[{") {
		if parts := engine.Text(jsonl.Value(content)); parts != "" {
			return parts
		}
	}
	return strings.TrimSpace(content)
}

// answer decodes an answer of the model.
func (d *decode) answer(n int, content string) {
	m := &d.Members
	at := clock(m.Get("timestamp"))
	d.answers++
	d.Timeline.AddThinking(cmp.Or(m.Get("reasoning_content").Text(), m.Get("reasoning").Text()))
	d.Answer(thread.Message{Text: content, Model: d.session.Get("model").Text(), Time: at})
	switch reason := m.Get("finish_reason").Text(); reason {
	case "stop", "length":
		d.State(thread.Completed, at, "finish_reason %s, row %d", reason, n)
		d.Facts.State.Waiting = thread.WaitingFor(content)
	case "tool_calls":
		d.State(thread.Running, at, "finish_reason %s, row %d", reason, n)
	case "":
		d.State(thread.Running, at, "an answer without finish_reason, row %d", n)
	default:
		d.State(thread.Errored, at, "finish_reason %s, row %d", thread.Brief(reason), n)
	}
	for c := jsonl.Value(m.Get("tool_calls").Text()).Elements(); c.Next(); {
		f := c.Value().Get("function")
		d.Called(n, thread.Call{ID: c.Value().Get("id").Text(), Name: f.Get("name").Text(), Time: at},
			f.Get("arguments"), waits)
	}
}

// waits is what a person has to do while a call of a tool is open.
var waits = engine.Waits{{"clarify", "an answer to its question"}}

// Finish implements engine.Decoder. The session has the only usage.
func (d *decode) Finish() {
	s := d.session
	if end := clock(s.Get("ended_at")); !end.IsZero() && d.Facts.State.Status == thread.Running {
		d.State(thread.Errored, end, "the session ended during a turn: %s", thread.Brief(s.end))
	}
	var n [6]int64
	s.Counts([]string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
		"api_call_count"}, n[:])
	t := thread.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3], Reasoning: min(n[4], n[1]),
		Calls: int(n[5])}
	if t.Cost = s.Get("actual_cost_usd").Amount(); t.Cost == 0 {
		t.Cost = s.Get("estimated_cost_usd").Amount()
	}
	if t.Total() == 0 {
		return
	}
	if t.Calls == 0 {
		t.Calls = max(1, d.answers)
	}
	d.Meter.Add(s.Get("billing_provider").Text(), s.Get("model").Text(), t, false)
	d.Gaps = []thread.Gap{{N: 1, Reason: "only the total of the session is recorded, for all requests"}}
}
