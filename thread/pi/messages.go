package pi

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A timeline adds entries.
type timeline struct {
	thread.Timeline
	spans jsonl.Spans
}

func (t *timeline) add(e entry) error {
	v, err := t.spans.Read(e.Span)
	if err != nil {
		return err
	}
	t.Inherited = e.copied
	m := thread.Message{ID: v.Get("id").Text(), Time: v.Get("timestamp").Time()}
	switch string(v.Get("type").Raw()) {
	case "message":
		t.message(m, v.Get("message"))
	case "compaction", "branch_summary":
		m.Role, m.Text = thread.Compaction, cmp.Or(strings.TrimSpace(v.Get("summary").Text()), thread.DefaultCompactionText)
		t.Add(m)
	case "custom_message":
		if show := v.Get("display"); show.Kind() != jsonl.Bool || show.True() {
			m.Role, m.Text = thread.Note, text(v.Get("content"))
			t.Add(m)
		}
	}
	return t.Err()
}

func (t *timeline) message(m thread.Message, v jsonl.Value) {
	content := v.Get("content")
	switch string(v.Get("role").Raw()) {
	case "user":
		m.Role, m.Text = thread.User, text(content)
	case "custom", "hookMessage":
		m.Role, m.Text = thread.Note, text(content)
	case "branchSummary", "compactionSummary":
		m.Role, m.Text = thread.Compaction, strings.TrimSpace(v.Get("summary").Text())
	case "assistant":
		t.answer(m, v)
		return
	case "toolResult":
		if id := v.Get("toolCallId").Text(); t.Awaits(id) {
			t.SetResult(id, func(c *thread.Call) {
				c.Output, c.Failed = thread.Clip(text(content)), v.Get("isError").True()
				c.End(m.Time)
			})
		}
	case "bashExecution":
		t.AddCall(thread.Call{
			Name: "bash", Input: thread.Clip(v.Get("command").Text()), Output: thread.Clip(v.Get("output").Text()),
			Failed: v.Get("exitCode").Int() != 0, Time: m.Time,
		})
	}
	t.Add(m)
}

func (t *timeline) answer(m thread.Message, v jsonl.Value) {
	content := v.Get("content")
	for c := content.Elements(); c.Next(); {
		t.AddThinking(c.Value().Get("thinking").Text())
	}
	m.Role, m.Text, m.Model = thread.Assistant, text(content), v.Get("model").Text()
	t.Add(m)
	if v.Get("stopReason").Is("error") {
		m.Role, m.Text = thread.Note, strings.TrimSpace("The request failed. "+v.Get("errorMessage").Text())
		t.Add(m)
	}
	for c := content.Elements(); c.Next() && t.Detail == thread.Tools; {
		if b := c.Value(); b.Get("type").Is("toolCall") {
			t.AddCall(thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(),
				Input: thread.Clip(b.Get("arguments").Compact()), Pending: true, Time: m.Time})
		}
	}
	if tokens, ok := usage(v); ok {
		t.AddUsage(tokens)
	}
}

// text returns the text of a content.
func text(v jsonl.Value) string {
	if v.Kind() == jsonl.String {
		return strings.TrimSpace(v.Text())
	}
	var parts []string
	for c := v.Elements(); c.Next(); {
		switch string(c.Value().Get("type").Raw()) {
		case "text":
			if part := strings.TrimSpace(c.Value().Get("text").Text()); part != "" {
				parts = append(parts, part)
			}
		case "image":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n\n")
}
