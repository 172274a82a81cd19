package model

import "net/http"

// anthropic is Anthropic Messages.
var anthropic = protocol{name: "anthropic", read: readAnthropic, write: writeAnthropic}

func readAnthropic(_ string, body map[string]any) Request {
	r := Request{Model: str(body["model"])}
	r.Stream, _ = body["stream"].(bool)
	for _, t := range list(body["tools"]) {
		r.Tools = append(r.Tools, str(t["name"]))
	}
	for _, m := range list(body["messages"]) {
		if m["role"] == "assistant" {
			r.Turns = append(r.Turns, Turn{Who: "model"})
			continue
		}
		if s, ok := m["content"].(string); ok {
			r.Turns = append(r.Turns, Turn{Who: "user", Text: s})
		}
		for _, part := range list(m["content"]) {
			if part["type"] == "tool_result" {
				r.Turns = append(r.Turns, Turn{Who: "tool", Text: text(part["content"])})
			} else {
				r.Turns = append(r.Turns, Turn{Who: "user", Text: str(part["text"])})
			}
		}
	}
	return r
}

func writeAnthropic(s *Server, w http.ResponseWriter, r Request, step Step) {
	u := step.Usage
	usage := object{"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite,
		"cache_read_input_tokens": u.CacheRead, "output_tokens": u.Output}
	var content []object
	if step.Text != "" {
		content = append(content, object{"type": "text", "text": step.Text})
	}
	reason := "end_turn"
	for _, c := range step.Calls {
		reason = "tool_use"
		content = append(content, object{"type": "tool_use", "id": s.id("toolu"), "name": c.Name, "input": c.Input})
	}
	message := object{"id": s.id("msg"), "type": "message", "role": "assistant", "model": r.Model, "stop_sequence": nil}
	if !r.Stream {
		message["content"] = content
		message["stop_reason"] = reason
		message["usage"] = usage
		writeJSON(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	message["usage"] = object{"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite,
		"cache_read_input_tokens": u.CacheRead, "output_tokens": 1}
	e := stream(w)
	e.send("message_start", object{"type": "message_start", "message": message})
	for i, block := range content {
		start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": block["text"]}
		if block["type"] == "tool_use" {
			start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": encode(block["input"])}
		}
		e.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
		e.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		e.send("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	e.send("message_delta", object{"type": "message_delta",
		"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	e.send("message_stop", object{"type": "message_stop"})
}
