package engine

import (
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// Text returns the text of a content: a string, or a list of parts of which those of
// type text, input_text, output_text and none have a text. An image is "[image]".
func Text(content jsonl.Value) string {
	if content.Kind() == jsonl.String {
		return strings.TrimSpace(content.Text())
	}
	var parts []string
	for c := content.Elements(); c.Next(); {
		if text := part(c.Value()); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

func part(v jsonl.Value) string {
	if v.Kind() == jsonl.String {
		return strings.TrimSpace(v.Text())
	}
	switch string(v.Get("type").Raw()) {
	case "text", "input_text", "output_text", "":
		return strings.TrimSpace(v.Get("text").Text())
	case "image", "input_image", "image_url":
		return "[image]"
	}
	return ""
}

// Output returns the text of the result of a call: its text, or else its JSON.
func Output(v jsonl.Value) string {
	if text := Text(v); text != "" {
		return text
	}
	switch v.Kind() {
	case jsonl.Absent, jsonl.Null, jsonl.String:
		return ""
	}
	return v.Compact()
}

// Hash returns a hash of a text that is the same in every process: FNV-1a of 64 bits.
func Hash[T string | []byte](text T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
