package handoff

import "github.com/agent-handoff/handoff/internal/jsonl"

// EncodeJSON returns v as JSON on one line, without the HTML escapes that
// json.Marshal adds and without a newline at the end.
func EncodeJSON(v any) ([]byte, error) { return jsonl.Encode(v, "") }

// EncodeJSONIndent is EncodeJSON with one member per line, indented by two
// spaces.
func EncodeJSONIndent(v any) ([]byte, error) { return jsonl.Encode(v, "  ") }
