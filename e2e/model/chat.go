package model

import (
	"io"
	"net/http"
)

// chat is OpenAI Chat Completions.
var chat = protocol{name: "chat", read: readChat, write: writeChat}

func readChat(_ string, body map[string]any) Request {
	r := Request{Model: str(body["model"])}
	r.Stream, _ = body["stream"].(bool)
	for _, t := range list(body["tools"]) {
		function, _ := t["function"].(object)
		r.Tools = append(r.Tools, str(function["name"]))
	}
	for _, m := range list(body["messages"]) {
		who := str(m["role"])
		if who == "assistant" {
			who = "model"
		}
		r.Turns = append(r.Turns, Turn{Who: who, Text: text(m["content"])})
	}
	return r
}

func writeChat(s *Server, w http.ResponseWriter, r Request, step Step) {
	u := step.Usage
	usage := object{"prompt_tokens": u.Input + u.CacheRead, "completion_tokens": u.Output,
		"total_tokens":              u.Input + u.CacheRead + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}
	calls, reason := []object{}, "stop"
	for i, c := range step.Calls {
		reason = "tool_calls"
		calls = append(calls, object{"index": i, "id": s.id("call"), "type": "function",
			"function": object{"name": c.Name, "arguments": encode(c.Input)}})
	}
	message := object{"role": "assistant", "content": step.Text}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	id := s.id("chatcmpl")
	if !r.Stream {
		writeJSON(w, object{"id": id, "object": "chat.completion", "model": r.Model, "usage": usage,
			"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}}})
		return
	}
	e := stream(w)
	chunk := func(delta object, reason, usage any) {
		choices := []any{object{"index": 0, "delta": delta, "finish_reason": reason}}
		if usage != nil {
			choices = []any{}
		}
		e.send("", object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": r.Model,
			"choices": choices, "usage": usage})
	}
	chunk(message, nil, nil)
	chunk(object{}, reason, nil)
	chunk(nil, nil, usage)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}
