package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// item reads a response_item: what went between the tool and the model.
func (s *scanner) item(v *jsonl.Members) {
	kind := v.Get("type").Raw()
	if !s.timeline.Inherited {
		s.turn.saw(s.at)
	}
	switch string(kind) {
	case "message":
		s.message(v)
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call", "tool_call":
		s.call(kind, v)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		s.output(v)
	case "agent_message":
		s.agentMessage(v)
	case "reasoning":
		s.reasoned(v)
	case "compaction", "compaction_summary":
		s.timeline.compacted(s.n, s.at.Time(), nil)
	}
}

func (s *scanner) message(v *jsonl.Members) {
	role := thread.Role(v.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		return
	}
	content := v.Get("content")
	if role == thread.User && bytes.Contains(content, []byte("<subagent_notification>")) {
		s.ledger.notified(s.at.Time(), text(content, func(string) bool { return true }))
	}
	own := !s.timeline.Inherited
	if own && role == thread.Assistant {
		s.turn.answered(s.n)
	}
	if s.timeline.Detail == thread.Summary && (role == thread.Assistant || !own) {
		return
	}
	said := text(content, func(part string) bool { return role == thread.Assistant || !injected(part) })
	if own && role == thread.User && said != "" {
		s.turn.asked(s.n)
	}
	s.timeline.add(item, thread.Message{ID: v.Get("id").Text(), Role: role, Text: said, Model: s.by(role), Time: s.at.Time()})
}

// reasoned reads what the model thought. Mostly that is a summary, or nothing
// that can be read.
func (s *scanner) reasoned(v *jsonl.Members) {
	if s.timeline.Detail < thread.Tools {
		return
	}
	for _, name := range []string{"content", "summary"} {
		said := false
		for c := v.Get(name).Elements(); c.Next(); said = true {
			s.timeline.Think(c.Value().Get("text").Text())
		}
		if said {
			return // the one sums up the other
		}
	}
}

// by is the model that writes a message.
func (s *scanner) by(role thread.Role) string {
	if role == thread.Assistant {
		return s.spend.model
	}
	return ""
}

// text joins the parts of a content that keep accepts.
func text(content jsonl.Value, keep func(string) bool) string {
	if content.Kind() == jsonl.String {
		if whole := content.Text(); keep(whole) {
			return strings.TrimSpace(whole)
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

// injections are how texts begin that the tool puts into the conversation in
// the user's name.
var injections = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>", "<turn_aborted>",
	"<subagent_notification>", "<skill>", "<skills_instructions>", "<apps_instructions>", "<plugins_instructions>", "<collaboration_mode>",
	"<personality_spec>", "<model_switch>", "<multi_agent_mode>", "<realtime_conversation>", "<recommended_plugins>", "<hook_prompt", "<codex_internal_context", "<token_budget",
}

func injected(part string) bool {
	for _, p := range injections {
		if strings.HasPrefix(part, p) {
			return true
		}
	}
	return false
}

// agentMessage reads what one agent of a team wrote to another.
func (s *scanner) agentMessage(v *jsonl.Members) {
	author, recipient := v.Get("author").Text(), v.Get("recipient").Text()
	s.ledger.spoke(s.at.Time(), author, recipient)
	if s.timeline.Detail == thread.Summary {
		return
	}
	if said := text(v.Get("content"), func(string) bool { return true }); said != "" {
		s.timeline.add(item, thread.Message{ID: v.Get("id").Text(), Role: thread.Note, Text: fmt.Sprintf("%s to %s: %s", author, recipient, said), Time: s.at.Time()})
	}
}

func (s *scanner) call(kind []byte, v *jsonl.Members) {
	c := thread.Call{ID: v.Get("call_id").Text(), Name: cmp.Or(v.Get("name").Text(), strings.TrimSuffix(string(kind), "_call")), Time: s.at.Time()}
	input := v.Get("arguments")
	for _, other := range []string{"input", "action"} {
		if input.Kind() == jsonl.Absent {
			input = v.Get(other)
		}
	}
	// What the hosted tools answer is not recorded.
	c.Pending = string(kind) != "web_search_call" && string(kind) != "image_generation_call"
	if s.timeline.Detail == thread.Tools {
		c.Input = thread.Clip(input.Plain())
	}
	if !s.timeline.Inherited {
		s.turn.called(c, input)
	}
	s.ledger.called(c, input)
	s.timeline.Call(c)
}

func (s *scanner) output(v *jsonl.Members) {
	raw := v.Get("call_id").Raw()
	if !s.timeline.Inherited {
		s.turn.returned(raw)
	}
	id := string(raw)
	if !s.ledger.awaits(id) && s.timeline.Detail < thread.Tools {
		return // most of a rollout is such outputs
	}
	said, agent := result(v.Get("output")), ""
	if s.ledger.awaits(id) {
		agent = s.ledger.returned(id, s.at.Time(), jsonl.Value(said))
	}
	s.timeline.Returned(id, func(c *thread.Call) { c.Output, c.Agent = thread.Clip(said), agent })
}

// result returns the text of an output, which versions wrapped differently.
func result(v jsonl.Value) string {
	switch v.Kind() {
	case jsonl.Object:
		for _, name := range []string{"content", "text", "output"} {
			if inner := v.Get(name); inner.Kind() != jsonl.Absent {
				return result(inner)
			}
		}
	case jsonl.Array:
		return text(v, func(string) bool { return true })
	case jsonl.String:
		said := v.Text()
		if !strings.HasPrefix(said, "{") {
			return said
		}
		if inner := jsonl.Value(said).Get("output"); inner.Kind() == jsonl.String {
			return inner.Text()
		}
		return said
	}
	return string(v)
}

// event reads an event_msg: what the tool told its own surface.
func (s *scanner) event(v *jsonl.Members) {
	kind := v.Get("type").Raw()
	own := !s.timeline.Inherited
	if own {
		s.turn.saw(s.at)
	}
	switch string(kind) {
	case "token_count":
		if tokens, ok := s.spend.count(v.Get("info")); ok {
			s.timeline.Spent(tokens)
			s.turn.counted = s.turn.counted || own
		}
	case "user_message":
		s.told(thread.User, v.Get("message"))
	case "agent_message":
		s.told(thread.Assistant, v.Get("message"))
	case "item_completed":
		s.completed(v.Get("item"))
	case "context_compacted":
		s.timeline.compacted(s.n, s.at.Time(), nil)
	case "thread_rolled_back":
		s.timeline.add(event, thread.Message{Role: thread.Note, Text: fmt.Sprintf("The last %d turns were rolled back.", v.Get("num_turns").Int()), Time: s.at.Time()})
	case "thread_name_updated":
		// The head is read without the rest, so a name given later is no part of it.
	default:
		if own {
			s.turn.event(kind, v, s.n, s.at)
		}
		s.ledger.event(kind, s.at, v)
	}
}

// completed reads an item_completed of a paginated rollout, which repeats
// response_items, except for what has none.
func (s *scanner) completed(v jsonl.Value) {
	switch string(v.Get("type").Raw()) {
	case "UserMessage":
		s.told(thread.User, v.Get("content"))
	case "AgentMessage":
		s.told(thread.Assistant, v.Get("content"))
	case "Plan":
		s.turn.plan = !s.timeline.Inherited
	}
}

// told adds a message that the surface was told of. The same text usually comes
// as a response_item too.
func (s *scanner) told(role thread.Role, v jsonl.Value) {
	if !s.timeline.Inherited {
		if role == thread.User {
			s.turn.asked(s.n)
		} else {
			s.turn.answered(s.n)
		}
	}
	if s.timeline.Detail == thread.Summary {
		return
	}
	s.timeline.add(event, thread.Message{Role: role, Text: text(v, func(string) bool { return true }), Model: s.by(role), Time: s.at.Time()})
}
