package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// roles is the role of a record by its type. Other records are not messages.
var roles = map[string]thread.Role{
	"user": thread.User, "gemini": thread.Assistant, "model": thread.Assistant, "assistant": thread.Assistant,
	"info": thread.Note, "warning": thread.Note, "error": thread.Note,
}

const snapshot = "<state_snapshot>"

var (
	cancelled = []byte("Request cancelled")
	failed    = []byte("This request failed")
)

// injections are the beginnings of texts that the tool adds as messages of the
// user.
var injections = []string{"<session_context>", "This is the Gemini CLI. We are setting up the context for our chat.",
	"<hook_context>"}

func injected(text string) bool {
	for _, p := range injections {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// asks reports whether the content of a message of the user is a prompt.
func asks(content jsonl.Value) bool {
	return !bytes.Contains(content, []byte(`"functionResponse"`)) && !injected(text(content))
}

// isSummary reports whether a content is a summary that replaces the thread.
func isSummary(content jsonl.Value) bool {
	return bytes.Contains(content, []byte("state_snapshot")) && strings.Contains(text(content), snapshot)
}

// show adds a message with a text. Calls and usage of one without belong to the one before.
func (d *decode) show(text string) {
	t, v := &d.Timeline, &d.Members
	role := roles[string(v.Get("type").Raw())]
	switch {
	case role == thread.User && injected(text):
		return
	case role == thread.User && strings.Contains(text, snapshot):
		role = thread.Compaction
	}
	if t.Detail == thread.Tools {
		for c := v.Get("thoughts").Elements(); c.Next(); {
			t.AddThinking(c.Value().Get("subject").Text() + "\n" + c.Value().Get("description").Text())
		}
	}
	t.Add(thread.Message{ID: v.Get("id").Text(), Role: role, Text: text, Model: v.Get("model").Text(),
		Time: v.Get("timestamp").Time()})
	for c := v.Get("toolCalls").Elements(); c.Next(); {
		t.AddCall(call(c.Value(), t.Detail))
	}
	if tokens, ok := d.tokens(v.Get("tokens")); ok {
		t.AddUsage(tokens)
	}
}

// shownText returns the text of a record, preferably the one that the tool showed.
func shownText(v *jsonl.Members) string {
	for _, name := range []string{"displayContent", "content", "parts"} {
		if text := text(v.Get(name)); text != "" {
			return text
		}
	}
	return ""
}

// text returns the text of a content.
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

// part returns the text of a part, "" for thoughts and for results of calls.
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

func call(v jsonl.Value, detail thread.Detail) (c thread.Call) {
	if detail < thread.Tools {
		return c
	}
	status := string(v.Get("status").Raw())
	output := v.Get("result")
	if k := output.Kind(); k == jsonl.Absent || k == jsonl.Null {
		output = v.Get("resultDisplay")
	}
	c = thread.Call{
		ID: v.Get("id").Text(), Name: v.Get("name").Text(), Agent: v.Get("agentId").Text(), Time: v.Get("timestamp").Time(),
		Input: thread.Clip(v.Get("args").Compact()), Output: thread.Clip(result(output)),
		Failed: status == "error" || status == "cancelled",
	}
	if c.Name == "run_shell_command" && commandFailed(result(output)) {
		c.Failed = true
	}
	c.Pending = output.Kind() == jsonl.Absent && !c.Failed && status != "success"
	return c
}

// commandFailed reports whether a command failed, from the lines that the tool adds
// to its output. Lines of the output itself do not count.
func commandFailed(output string) bool {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		if code, ok := strings.CutPrefix(line, "Exit Code: "); ok {
			return code != "0" && code != "(none)"
		}
		if !slices.ContainsFunc(trailers, func(p string) bool { return strings.HasPrefix(line, p) }) {
			break
		}
	}
	return false
}

// trailers are the beginnings of the lines that may follow the exit code.
var trailers = []string{"Signal: ", "Background PIDs: ", "Process Group PGID: ", "</untrusted_context>"}

// result returns the text of the result of a call: a string in it, or the result
// as JSON.
func result(v jsonl.Value) string {
	switch v.Kind() {
	case jsonl.Absent, jsonl.Null:
		return ""
	case jsonl.String:
		return v.Text()
	case jsonl.Array:
		var parts []string
		for c := v.Elements(); c.Next(); {
			parts = append(parts, result(c.Value()))
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
		return response.Compact()
	}
	if s := part(v); s != "" {
		return s
	}
	return v.Compact()
}
