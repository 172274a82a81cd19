package contract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/jsonschema"
)

// maxNumber is the maximum length of a number, in bytes: exact arithmetic on
// longer ones, or on huge exponents, is too expensive.
const maxNumber = 64

// decode parses one JSON value, with numbers as json.Number. A document that is
// not JSON has one problem, without a pointer. Duplicate keys are problems too.
func decode(b []byte) (any, []jsonschema.Problem) {
	if len(b) > MaxArtifact {
		return nil, []jsonschema.Problem{{Text: fmt.Sprintf("is larger than %d bytes", MaxArtifact)}}
	}
	if !utf8.Valid(b) {
		return nil, []jsonschema.Problem{{Text: "is not UTF-8"}}
	}
	if !json.Valid(b) {
		return nil, []jsonschema.Problem{{Text: jsonl.SyntaxError(b).Error()}}
	}
	return parse(string(b))
}

// computable reports whether programs can compute with a number.
func computable(n string) bool {
	if len(n) < 16 && !strings.ContainsAny(n, "eE") {
		return true
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil || len(n) > maxNumber {
		return false
	}
	digits, _, _ := strings.Cut(strings.ToLower(n), "e")
	return f != 0 || !strings.ContainsAny(digits, "123456789")
}
