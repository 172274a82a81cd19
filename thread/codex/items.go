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

// item reads a response_item: part of the exchange between tool and model.
func (s *scanner) item(v *jsonl.Members) {
	kind := v.Get("type").Raw()
	if s.brief {
		s.briefly(kind, v)
		return
	}
	if !s.timeline.Inherited {
		s.turn.Last.Set(s.at)
	}
	switch string(kind) {
	case "message":
		s.message(v)
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call",
		"image_generation_call", "tool_call":
		s.call(kind, v)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		s.output(v)
	case "agent_message":
		s.agentMessage(v)
	case "reasoning":
		s.reasoning(v)
	case "compaction", "compaction_summary":
		s.timeline.compacted(s.n, s.at.Time(), nil)
	}
}

// briefly reads of a response_item what the usage needs: whether there is an answer,
// and which subagents were started.
func (s *scanner) briefly(kind []byte, v *jsonl.Members) {
	switch string(kind) {
	case "message":
		if string(v.Get("role").Raw()) == string(thread.Assistant) && !s.timeline.Inherited {
			s.answered()
		}
	case "function_call":
		if v.Get("name").Is(spawnAgent) {
			s.subagents.called(thread.Call{ID: v.Get("call_id").Text(), Name: spawnAgent}, v.Get("arguments"))
		}
	case "function_call_output":
		if len(s.subagents.calls) == 0 {
			return
		}
		if id := string(v.Get("call_id").Raw()); s.subagents.awaits(id) {
			s.subagents.returned(id, s.at.Time(), jsonl.Value(result(v.Get("output"))))
		}
	}
}

func (s *scanner) message(v *jsonl.Members) {
	role := thread.Role(v.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		return
	}
	content := v.Get("content")
	if role == thread.User && bytes.Contains(content, []byte("<subagent_notification>")) {
		s.subagents.notified(s.at.Time(), text(content, anyPart))
	}
	own := !s.timeline.Inherited
	if own && role == thread.Assistant {
		s.answered()
	}
	if s.timeline.Detail == thread.Summary && (role == thread.Assistant || !own) {
		return
	}
	body := text(content, func(part string) bool { return role == thread.Assistant || !injected(part) })
	if own && role == thread.User && body != "" {
		s.turn.asked(s.n)
	}
	s.timeline.add(item, thread.Message{ID: v.Get("id").Text(), Role: role, Text: body, Model: s.model(role),
		Time: s.at.Time()})
}

// answered handles an answer of the model, whose usage follows.
func (s *scanner) answered() {
	s.turn.Answer, s.turn.Answered = s.n, true
	if s.meter.model != "" {
		s.meter.Add(s.meter.provider, s.meter.model, thread.Tokens{}, false)
	}
}

// reasoning reads the model's reasoning. Usually only a summary is recorded, or
// nothing readable.
func (s *scanner) reasoning(v *jsonl.Members) {
	if s.timeline.Detail < thread.Tools {
		return
	}
	for _, name := range []string{"content", "summary"} {
		body := false
		for c := v.Get(name).Elements(); c.Next(); body = true {
			s.timeline.AddThinking(c.Value().Get("text").Text())
		}
		if body {
			return // summary is a summary of content
		}
	}
}

// model returns the model that wrote a message.
func (s *scanner) model(role thread.Role) string {
	if role == thread.Assistant {
		return s.meter.model
	}
	return ""
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

// agentMessage reads a message from one agent of a team to another.
func (s *scanner) agentMessage(v *jsonl.Members) {
	author, recipient := v.Get("author").Text(), v.Get("recipient").Text()
	s.subagents.sent(s.at.Time(), author, recipient)
	if s.timeline.Detail == thread.Summary {
		return
	}
	if body := text(v.Get("content"), anyPart); body != "" {
		s.timeline.add(item, thread.Message{ID: v.Get("id").Text(), Role: thread.Note,
			Text: fmt.Sprintf("%s to %s: %s", author, recipient, body), Time: s.at.Time()})
	}
}

func (s *scanner) call(kind []byte, v *jsonl.Members) {
	c := thread.Call{ID: v.Get("call_id").Text(),
		Name: cmp.Or(v.Get("name").Text(), strings.TrimSuffix(string(kind), "_call")), Time: s.at.Time()}
	input := v.Get("arguments")
	for _, other := range []string{"input", "action"} {
		if input.Kind() == jsonl.Absent {
			input = v.Get(other)
		}
	}
	// The results of hosted tools are not recorded.
	c.Pending = string(kind) != "web_search_call" && string(kind) != "image_generation_call"
	if s.timeline.Detail == thread.Tools {
		c.Input = thread.Clip(input.Plain())
	}
	if !s.timeline.Inherited {
		s.turn.called(c, input, s.n)
	}
	s.subagents.called(c, input)
	s.timeline.AddCall(c)
}

func (s *scanner) output(v *jsonl.Members) {
	raw := v.Get("call_id").Raw()
	if !s.timeline.Inherited {
		s.turn.returned(string(raw), s.n)
	}
	id := string(raw)
	if !s.subagents.awaits(id) && s.timeline.Detail < thread.Tools {
		return // the largest part of a rollout
	}
	body, agent := result(v.Get("output")), ""
	if s.subagents.awaits(id) {
		agent = s.subagents.returned(id, s.at.Time(), jsonl.Value(body))
	}
	s.timeline.SetResult(id, func(c *thread.Call) {
		c.SetOutput(body)
		c.End(s.at.Time())
		c.Agent, c.Exit = agent, cmp.Or(exitStatus(v.Get("output")), headerStatus(body))
	})
}

// exitStatus returns the exit status in the metadata of an output, nil if there is
// none.
func exitStatus(v jsonl.Value) *int {
	if bytes.HasPrefix(v.Raw(), []byte("{")) { // JSON in a string; outputs are long, so others are not decoded
		v = jsonl.Value(v.Text())
	}
	code := v.Get("metadata", "exit_code")
	if code.Kind() != jsonl.Number {
		return nil
	}
	n := int(code.Int())
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

// event reads an event_msg: what the tool sends to its user interface.
func (s *scanner) event(v *jsonl.Members) {
	kind := v.Get("type").Raw()
	own := !s.timeline.Inherited
	if own {
		s.turn.Last.Set(s.at)
	}
	switch string(kind) {
	case "token_count":
		s.meter.N, s.meter.At = s.timeline.Messages, s.at.Time()
		if tokens, ok := s.meter.count(v.Get("info")); ok {
			s.timeline.AddUsage(tokens)
			s.turn.Counted = s.turn.Counted || own
		}
	case "user_message":
		s.shown(thread.User, v.Get("message"))
	case "agent_message":
		s.shown(thread.Assistant, v.Get("message"))
	case "item_completed":
		s.completed(v.Get("item"))
	case "context_compacted":
		s.timeline.compacted(s.n, s.at.Time(), nil)
	case "thread_rolled_back":
		s.timeline.add(event, thread.Message{Role: thread.Note,
			Text: fmt.Sprintf("The last %d turns were rolled back.", v.Get("num_turns").Int()), Time: s.at.Time()})
	case "thread_name_updated":
		// Only the first record is read for the title, so later names are ignored.
	default:
		if own {
			s.turn.event(kind, v, s.n, s.at)
		}
		s.subagents.event(kind, s.at, v)
	}
}

// completed reads an item_completed of a paginated rollout. It repeats a
// response_item, except for plans.
func (s *scanner) completed(v jsonl.Value) {
	switch string(v.Get("type").Raw()) {
	case "UserMessage":
		s.shown(thread.User, v.Get("content"))
	case "AgentMessage":
		s.shown(thread.Assistant, v.Get("content"))
	case "Plan":
		s.turn.Plan = !s.timeline.Inherited
	}
}

// shown adds a message of an event. Usually there is a response_item with the
// same text.
func (s *scanner) shown(role thread.Role, v jsonl.Value) {
	if !s.timeline.Inherited {
		if role == thread.User {
			s.turn.asked(s.n)
		} else {
			s.answered()
		}
	}
	if s.timeline.Detail == thread.Summary {
		return
	}
	s.timeline.add(event, thread.Message{Role: role, Text: text(v, anyPart), Model: s.model(role), Time: s.at.Time()})
}
