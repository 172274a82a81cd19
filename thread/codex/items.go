package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// responseItem decodes a response_item: part of the exchange between tool and model.
func (d *decode) responseItem() {
	v := &d.payload
	kind := v.Get("type").Raw()
	d.happened()
	switch string(kind) {
	case "message":
		d.message()
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call",
		"image_generation_call", "tool_call":
		d.Sum.Answered = true
		d.call(string(kind))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		d.output()
	case "agent_message":
		d.agentMessage()
	case "reasoning":
		d.Sum.Answered = true
		d.reasoning()
	case "compaction", "compaction_summary", "context_compaction":
		d.compacted(nil)
	case "additional_tools", "ghost_snapshot":
	default:
		d.Unknown(string(kind), d.record)
	}
}

func (d *decode) message() {
	role := thread.Role(d.payload.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		return
	}
	content := d.payload.Get("content")
	if role == thread.User && bytes.Contains(content, []byte("<subagent_notification>")) {
		d.notified(text(content, anyPart))
	}
	if role == thread.User {
		d.Sum.Apart = false
	} else {
		d.Sum.Answered = true
		if d.own() {
			d.answered()
		}
	}
	if d.Timeline.Detail == thread.Summary && (role == thread.Assistant || !d.own()) {
		return
	}
	body := text(content, func(part string) bool { return role == thread.Assistant || !injected(part) })
	if d.own() && role == thread.User && body != "" {
		d.asked()
	}
	d.say(item, thread.Message{ID: d.payload.Get("id").Text(), Role: role, Text: body})
}

// reasoning decodes the model's reasoning. Usually only a summary is recorded, or
// nothing readable.
func (d *decode) reasoning() {
	if d.Timeline.Detail < thread.Tools {
		return
	}
	for _, name := range []string{"content", "summary"} {
		body := false
		for c := d.payload.Get(name).Elements(); c.Next(); body = true {
			d.Timeline.AddThinking(c.Value().Get("text").Text())
		}
		if body {
			return // summary is a summary of content
		}
	}
}

func anyPart(string) bool { return true }

// text returns the parts of a content that keep accepts.
func text(content jsonl.Value, keep func(string) bool) string {
	if content.Kind() == jsonl.String {
		if all := content.Text(); keep(all) {
			return strings.TrimSpace(all)
		}
		return ""
	}
	var parts []string
	for c := content.Elements(); c.Next(); {
		v := c.Value()
		switch string(v.Get("type").Raw()) {
		case "input_text", "output_text", "text", "Text":
			part := strings.TrimSpace(v.Get("text").Text())
			if part != "" && keep(part) && !strings.HasPrefix(part, "<image") && part != "</image>" {
				parts = append(parts, part)
			}
		case "input_image", "image", "Image", "local_image":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n\n")
}

// injections are the beginnings of texts that the tool adds to messages of the
// user.
var injections = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>",
	"<turn_aborted>",
	"<subagent_notification>", "<skill>", "<skills_instructions>", "<apps_instructions>", "<plugins_instructions>",
	"<collaboration_mode>",
	"<personality_spec>", "<model_switch>", "<multi_agent_mode>", "<realtime_conversation>", "<recommended_plugins>",
	"<hook_prompt", "<codex_internal_context", "<token_budget",
}

func injected(part string) bool {
	for _, p := range injections {
		if strings.HasPrefix(part, p) {
			return true
		}
	}
	return false
}

// agentMessage decodes a message from one agent of a team to another.
func (d *decode) agentMessage() {
	author, recipient := d.payload.Get("author").Text(), d.payload.Get("recipient").Text()
	d.sent(author, recipient)
	if d.Timeline.Detail == thread.Summary {
		return
	}
	if body := text(d.payload.Get("content"), anyPart); body != "" {
		d.say(item, thread.Message{ID: d.payload.Get("id").Text(), Role: thread.Note,
			Text: fmt.Sprintf("%s to %s: %s", author, recipient, body)})
	}
}

// call decodes a call. The results of hosted tools are not recorded.
func (d *decode) call(kind string) {
	v := &d.payload
	c := thread.Call{ID: v.Get("call_id").Text(),
		Name: cmp.Or(v.Get("name").Text(), strings.TrimSuffix(kind, "_call")), Time: d.at()}
	input := v.Get("arguments")
	for _, other := range []string{"input", "action"} {
		if input.Kind() == jsonl.Absent {
			input = v.Get(other)
		}
	}
	c.Pending = kind != "web_search_call" && kind != "image_generation_call"
	if d.Timeline.Detail == thread.Tools {
		c.Input = thread.Clip(input.Plain())
	}
	if d.own() {
		d.called(c, input)
	}
	d.talk(c, input)
	d.Timeline.AddCall(c)
	if kind == "custom_tool_call" && c.Name == "exec" {
		d.scripted(c.ID, input.Text())
	}
}

func (d *decode) output() {
	raw := d.payload.Get("call_id").Raw()
	id, output := string(raw), d.payload.Get("output")
	if d.own() {
		d.Turn.Question = d.n
		delete(d.Calls, id)
	}
	if awaited := d.awaits(id); awaited || d.Timeline.Detail == thread.Tools { // outputs are most of a rollout
		body, agent := result(output), ""
		if awaited {
			agent = d.returned(id, jsonl.Value(body))
		}
		d.Timeline.SetResult(id, func(c *thread.Call) {
			c.SetOutput(body)
			c.End(d.at())
			c.Agent, c.Exit = agent, cmp.Or(exitStatus(output), headerStatus(body))
			c.Failed = c.Name == "exec" && strings.HasPrefix(body, scriptFailed)
		})
	}
	d.ended(id, output)
}

// exitStatus returns the exit status in the metadata of an output, nil if there is
// none.
func exitStatus(v jsonl.Value) *int {
	if bytes.HasPrefix(v.Raw(), []byte("{")) { // JSON in a string; outputs are long, so others are not decoded
		v = jsonl.Value(v.Text())
	}
	return number(v.Get("metadata", "exit_code"))
}

// number returns a number, nil if v is none.
func number(v jsonl.Value) *int {
	if v.Kind() != jsonl.Number {
		return nil
	}
	n := int(v.Int())
	return &n
}

// headerStatus returns the exit status in the lines that the tool writes before the
// output of a command, nil if there is none.
func headerStatus(body string) *int {
	const most = 512 // bytes of a header
	head, _, ok := strings.Cut(body[:min(len(body), most)], "\nOutput:\n")
	if !ok {
		return nil
	}
	for line := range strings.Lines(head) {
		for _, name := range []string{"Process exited with code ", "Exit code: "} {
			if code, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name); ok {
				if n, err := strconv.Atoi(code); err == nil {
					return &n
				}
			}
		}
	}
	return nil
}

// result returns the text of an output. Versions wrap it differently.
func result(v jsonl.Value) string {
	switch v.Kind() {
	case jsonl.Object:
		for _, name := range []string{"content", "text", "output"} {
			if inner := v.Get(name); inner.Kind() != jsonl.Absent {
				return result(inner)
			}
		}
	case jsonl.Array:
		return text(v, anyPart)
	case jsonl.String:
		body := v.Text()
		if !strings.HasPrefix(body, "{") {
			return body
		}
		if inner := jsonl.Value(body).Get("output"); inner.Kind() == jsonl.String {
			return inner.Text()
		}
		return body
	}
	return string(v)
}
