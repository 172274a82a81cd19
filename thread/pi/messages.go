package pi

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A timeline numbers messages and hands each out once it is known which calls
// followed it and what they returned.
type timeline struct {
	src    io.ReaderAt
	detail thread.Detail
	emit   func(thread.Message) error
	n      int
	buf    []byte
	cur    *thread.Message
}

// add reads an entry.
func (t *timeline) add(e entry) error {
	v, err := e.Span.Read(t.src, t.buf)
	if err != nil {
		return err
	}
	if cap(v) > cap(t.buf) {
		t.buf = v[:0]
	}
	m := thread.Message{ID: v.Get("id").Text(), Time: clock(v.Get("timestamp")), Inherited: e.copied}
	switch string(v.Get("type").Raw()) {
	case "message":
		return t.message(m, v.Get("message"))
	case "compaction", "branch_summary":
		m.Role, m.Text = thread.Compaction, strings.TrimSpace(v.Get("summary").Text())
		if m.Text == "" {
			m.Text = "Context was compacted."
		}
	case "custom_message":
		if show := v.Get("display"); show.Kind() == jsonl.Bool && !show.True() {
			return nil
		}
		m.Role, m.Text = thread.Note, text(v.Get("content"))
	}
	return t.push(m)
}

func (t *timeline) message(m thread.Message, v jsonl.Value) error {
	content := v.Get("content")
	switch string(v.Get("role").Raw()) {
	case "user":
		m.Role, m.Text = thread.User, text(content)
		return t.push(m)
	case "toolResult":
		t.returned(v.Get("toolCallId").Text(), text(content), v.Get("isError").True())
		return nil
	case "bashExecution":
		t.call(m, thread.Call{Name: "bash", Input: v.Get("command").Text(), Output: v.Get("output").Text(), Failed: v.Get("exitCode").Int() != 0, Time: m.Time})
		return nil
	case "custom", "hookMessage":
		m.Role, m.Text = thread.Note, text(content)
		return t.push(m)
	case "branchSummary", "compactionSummary":
		m.Role, m.Text = thread.Compaction, strings.TrimSpace(v.Get("summary").Text())
		return t.push(m)
	case "assistant":
		return t.answer(m, v)
	}
	return nil
}

func (t *timeline) answer(m thread.Message, v jsonl.Value) error {
	m.Role, m.Text, m.Model = thread.Assistant, text(v.Get("content")), v.Get("model").Text()
	if err := t.push(m); err != nil {
		return err
	}
	if v.Get("stopReason").Is("error") {
		m.Role, m.Text = thread.Note, strings.TrimSpace("The request failed. "+v.Get("errorMessage").Text())
		if err := t.push(m); err != nil {
			return err
		}
	}
	if tokens, ok := took(v); ok {
		last := t.last(m)
		if last.Usage == nil {
			last.Usage = new(thread.Tokens)
		}
		last.Usage.Add(tokens)
	}
	for c := v.Get("content").Elements(); c.Next(); {
		if b := c.Value(); b.Get("type").Is("toolCall") {
			t.call(m, thread.Call{ID: b.Get("id").Text(), Name: b.Get("name").Text(), Input: compact(b.Get("arguments")), Pending: true, Time: m.Time})
		}
	}
	return nil
}

// push adds a message that has a text.
func (t *timeline) push(m thread.Message) error {
	if m.Text == "" {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	t.n++
	m.N = t.n
	t.cur = &m
	return nil
}

// last is the message to which what comes now belongs.
func (t *timeline) last(m thread.Message) *thread.Message {
	if t.cur == nil {
		t.cur = &thread.Message{Role: thread.Assistant, Inherited: m.Inherited}
	}
	return t.cur
}

func (t *timeline) call(m thread.Message, c thread.Call) {
	if t.detail < thread.Tools {
		return
	}
	c.Input, c.Output = thread.Clip(c.Input), thread.Clip(c.Output)
	last := t.last(m)
	last.Tools = append(last.Tools, c)
}

func (t *timeline) returned(id, output string, failed bool) {
	if t.cur == nil {
		return
	}
	for i := range t.cur.Tools {
		if c := &t.cur.Tools[i]; c.ID == id && c.Pending {
			c.Pending, c.Output, c.Failed = false, thread.Clip(output), failed
			return
		}
	}
}

func (t *timeline) flush() error {
	m := t.cur
	t.cur = nil
	if m == nil || t.emit == nil || m.N == 0 && len(m.Tools) == 0 {
		return nil
	}
	return t.emit(*m)
}

// text joins the parts of a content.
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

func compact(v jsonl.Value) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return strings.ToValidUTF8(string(v), "\uFFFD")
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
