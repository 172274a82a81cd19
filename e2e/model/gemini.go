package model

import (
	"net/http"
	"path"
	"strings"
)

// gemini is the API of Gemini.
var gemini = protocol{name: "gemini", read: readGemini, write: writeGemini}

func readGemini(urlPath string, body map[string]any) Request {
	name, method, _ := strings.Cut(path.Base(urlPath), ":")
	r := Request{Model: name, Stream: method == "streamGenerateContent"}
	for _, t := range list(body["tools"]) {
		for _, f := range list(t["functionDeclarations"]) {
			r.Tools = append(r.Tools, str(f["name"]))
		}
	}
	for _, c := range list(body["contents"]) {
		if c["role"] == "model" {
			r.Turns = append(r.Turns, Turn{Who: "model"})
			continue
		}
		for _, part := range list(c["parts"]) {
			if response, ok := part["functionResponse"].(object); ok {
				r.Turns = append(r.Turns, Turn{Who: "tool", Text: text(response["response"])})
			} else {
				r.Turns = append(r.Turns, Turn{Who: "user", Text: str(part["text"])})
			}
		}
	}
	return r
}

func writeGemini(s *Server, w http.ResponseWriter, r Request, step Step) {
	u := step.Usage
	var parts []object
	if step.Text != "" {
		parts = append(parts, object{"text": step.Text})
	}
	for _, c := range step.Calls {
		parts = append(parts, object{"functionCall": object{"id": s.id("fc"), "name": c.Name, "args": c.Input}})
	}
	response := object{
		"candidates": []any{object{"content": object{"role": "model", "parts": parts}, "finishReason": "STOP",
			"index": 0}},
		"usageMetadata": object{"promptTokenCount": u.Input + u.CacheRead, "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
			"totalTokenCount": u.Input + u.CacheRead + u.Output},
		"modelVersion": r.Model, "responseId": s.id("g"),
	}
	if !r.Stream {
		writeJSON(w, response)
		return
	}
	stream(w).send("", response)
}
