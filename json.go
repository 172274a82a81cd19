package handoff

import (
	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/internal/printable"
)

// EncodeJSON returns v as JSON on one line, without the HTML escapes that
// json.Marshal adds and without a newline at the end. Control characters and
// changes of text direction are escaped.
func EncodeJSON(v any) ([]byte, error) { return encode(v, "") }

// EncodeJSONIndent is EncodeJSON with one member per line, indented by two
// spaces.
func EncodeJSONIndent(v any) ([]byte, error) { return encode(v, "  ") }

func encode(v any, indent string) ([]byte, error) {
	b, err := jsonl.Encode(v, indent)
	return printable.JSON(b), err
}
