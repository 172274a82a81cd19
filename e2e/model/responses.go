package model

import (
	"net/http"
	"strings"
)

// responses is OpenAI Responses.
var responses = protocol{name: "responses", read: readResponses, write: writeResponses}

func readResponses(_ string, body map[string]any) Request {
	r := Request{Model: str(body["model"])}
	r.Stream, _ = body["stream"].(bool)
	for _, t := range list(body["tools"]) {
		r.Tools = append(r.Tools, str(t["name"]))
		for _, member := range list(t["tools"]) { // of a namespace
			r.Tools = append(r.Tools, str(t["name"])+"/"+str(member["name"]))
		}
	}
	if s, ok := body["input"].(string); ok {
		r.Turns = append(r.Turns, Turn{Who: "user", Text: s})
	}
	for _, item := range list(body["input"]) {
		r.Turns = append(r.Turns, responsesTurn(item))
	}
	return r
}

func responsesTurn(item object) Turn {
	kind := str(item["type"])
	switch {
	case strings.HasSuffix(kind, "_output"):
		return Turn{Who: "tool", Text: text(item["output"])}
	case kind == "agent_message":
		return Turn{Who: "user", Text: text(item["content"])}
	case kind != "" && kind != "message", item["role"] == "assistant":
		return Turn{Who: "model"}
	case item["role"] == "user":
		return Turn{Who: "user", Text: text(item["content"])}
	}
	return Turn{Who: "system", Text: text(item["content"])}
}

func writeResponses(s *Server, w http.ResponseWriter, r Request, step Step) {
	u := step.Usage
	input := u.Input + u.CacheRead + u.CacheWrite
	details := object{"cached_tokens": u.CacheRead}
	if u.CacheWrite > 0 {
		details["cache_write_tokens"] = u.CacheWrite
	}
	var items []object
	if step.Text != "" {
		items = append(items, object{"type": "message", "id": s.id("msg"), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": step.Text, "annotations": []any{}}}})
	}
	for _, c := range step.Calls {
		item := object{"type": "function_call", "id": s.id("fc"), "call_id": s.id("call"), "name": c.Name,
			"arguments": encode(c.Input), "status": "completed"}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	response := object{"id": s.id("resp"), "object": "response", "model": r.Model, "status": "completed",
		"output": items,
		"usage": object{"input_tokens": input, "input_tokens_details": details, "output_tokens": u.Output,
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": input + u.Output}}
	if !r.Stream {
		writeJSON(w, response)
		return
	}
	e := stream(w)
	e.send("response.created", object{"type": "response.created",
		"response": object{"id": response["id"], "object": "response", "model": r.Model, "status": "in_progress",
			"output": []any{}}})
	for i, item := range items {
		e.send("response.output_item.added", object{"type": "response.output_item.added", "output_index": i,
			"item": item})
		if item["type"] == "message" {
			e.send("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": item["id"],
				"output_index": i, "content_index": 0, "delta": step.Text})
		}
		e.send("response.output_item.done", object{"type": "response.output_item.done", "output_index": i,
			"item": item})
	}
	e.send("response.completed", object{"type": "response.completed", "response": response})
}
