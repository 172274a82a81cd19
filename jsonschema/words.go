package jsonschema

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func oneOf[T any](list []T, format func(T) string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = format(v)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func article(kind string) string {
	switch kind {
	case "null":
		return "null"
	case "array", "object", "integer":
		return "an " + kind
	}
	return "a " + kind
}

// maxShown is the maximum length of a value in a sentence, in bytes.
const maxShown = 60

func show(v any) string {
	var text string
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	} else if b, err := json.Marshal(v); err == nil {
		text = string(b)
	}
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
