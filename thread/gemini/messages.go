package gemini

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// roles are whose a record is, by its type. All other records are no messages.
var roles = map[string]thread.Role{
	"user": thread.User, "gemini": thread.Assistant, "model": thread.Assistant, "assistant": thread.Assistant,
	"info": thread.Note, "warning": thread.Note, "error": thread.Note,
}

const snapshot = "<state_snapshot>"

var (
	cancelled = []byte("Request cancelled")
	failed    = []byte("This request failed")
)

// injections are how texts begin that the tool puts into the conversation in
// the user's name.
var injections = []string{"<session_context>", "This is the Gemini CLI. We are setting up the context for our chat.", "<hook_context>"}

func injected(text string) bool {
	for _, p := range injections {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// summary reports whether a content stands for a conversation that was too long.
func summary(content jsonl.Value) bool {
	return bytes.Contains(content, []byte("state_snapshot")) && strings.Contains(text(content), snapshot)
}

// A timeline numbers messages and hands each out once it is known which calls
// followed it.
type timeline struct {
	src    io.ReaderAt
	detail thread.Detail
	emit   func(thread.Message) error
	n      int
	buf    []byte
	cur    *thread.Message
}

// add reads a record. One without a text belongs to the message before it.
func (t *timeline) add(r record) error {
	v, err := r.Span.Read(t.src, t.buf)
	if err != nil {
		return err
	}
	if cap(v) > cap(t.buf) {
		t.buf = v[:0]
	}
	role := roles[string(v.Get("type").Raw())]
	text := said(v)
	if role == thread.User && injected(text) {
		return nil
	}
	if role == thread.User && strings.Contains(text, snapshot) {
		role = thread.Compaction
	}
	if text != "" || t.cur == nil {
		if err := t.flush(); err != nil {
			return err
		}
		m := thread.Message{ID: v.Get("id").Text(), Role: role, Text: text, Model: v.Get("model").Text(), Time: clock(v.Get("timestamp"))}
		if text != "" {
			t.n++
			m.N = t.n
		}
		t.cur = &m
	}
	if tokens, ok := parseTokens(v.Get("tokens")); ok {
		if t.cur.Usage == nil {
			t.cur.Usage = new(thread.Tokens)
		}
		t.cur.Usage.Add(tokens.tokens())
	}
	if t.detail == thread.Tools {
		for c := v.Get("toolCalls").Elements(); c.Next(); {
			t.cur.Tools = append(t.cur.Tools, call(c.Value()))
		}
	}
	return nil
}

func (t *timeline) flush() error {
	m := t.cur
	t.cur = nil
	if m == nil || t.emit == nil || m.N == 0 && len(m.Tools) == 0 {
		return nil
	}
	return t.emit(*m)
}

// said returns what a record shows: what the tool showed instead of it, where it
// did.
func said(v jsonl.Value) string {
	for _, name := range []string{"displayContent", "content", "parts"} {
		if text := text(v.Get(name)); text != "" {
			return text
		}
	}
	return ""
}

// text joins the parts of a content.
func text(v jsonl.Value) string {
	switch v.Kind() {
	case jsonl.String:
		return strings.TrimSpace(v.Text())
	case jsonl.Object:
		return part(v)
	}
	var parts []string
	for c := v.Elements(); c.Next(); {
		if p := part(c.Value()); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "\n\n")
}

// part returns the text of a part. Thoughts are none, and what tools return is
// in their calls.
func part(v jsonl.Value) string {
	if v.Kind() == jsonl.String {
		return strings.TrimSpace(v.Text())
	}
	if v.Get("thought").True() {
		return ""
	}
	for _, name := range []string{"inlineData", "fileData"} {
		if kind := v.Get(name, "mimeType").Text(); kind != "" {
			kind, _, _ = strings.Cut(kind, "/")
			return "[" + kind + "]"
		}
	}
	return strings.TrimSpace(v.Get("text").Text())
}

func call(v jsonl.Value) thread.Call {
	status := string(v.Get("status").Raw())
	result := v.Get("result")
	output := result
	if k := result.Kind(); k == jsonl.Absent || k == jsonl.Null {
		output = v.Get("resultDisplay")
	}
	c := thread.Call{
		ID: v.Get("id").Text(), Name: v.Get("name").Text(), Agent: v.Get("agentId").Text(), Time: clock(v.Get("timestamp")),
		Input: thread.Clip(compact(v.Get("args"))), Output: thread.Clip(returned(output)),
		Failed: status == "error" || status == "cancelled",
	}
	c.Pending = output.Kind() == jsonl.Absent && !c.Failed && status != "success"
	return c
}

// returned is the text of what a tool returned: one string among its parts, or
// all as JSON.
func returned(v jsonl.Value) string {
	switch v.Kind() {
	case jsonl.Absent, jsonl.Null:
		return ""
	case jsonl.String:
		return v.Text()
	case jsonl.Array:
		var parts []string
		for c := v.Elements(); c.Next(); {
			parts = append(parts, returned(c.Value()))
		}
		return strings.Join(parts, "\n")
	}
	response := v.Get("functionResponse", "response")
	for _, name := range []string{"output", "error"} {
		if s := response.Get(name); s.Kind() == jsonl.String {
			return s.Text()
		}
	}
	if response.Kind() != jsonl.Absent {
		return compact(response)
	}
	if s := part(v); s != "" {
		return s
	}
	return compact(v)
}

func compact(v jsonl.Value) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return strings.ToValidUTF8(string(v), "\uFFFD")
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
