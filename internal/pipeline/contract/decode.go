package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNumber is the maximum length of a number, in bytes: exact arithmetic on
// longer ones, or on huge exponents, is too expensive.
const maxNumber = 64

// decode parses one JSON value, with numbers as json.Number. A document that is
// not JSON has one problem, without a pointer. Duplicate keys are problems too.
func decode(b []byte) (any, []Problem) {
	if len(b) > MaxArtifact {
		return nil, []Problem{{Text: fmt.Sprintf("is larger than %d bytes", MaxArtifact)}}
	}
	if !utf8.Valid(b) {
		return nil, []Problem{{Text: "is not UTF-8"}}
	}
	if !json.Valid(b) {
		return nil, []Problem{{Text: invalidJSON + syntaxError(b)}}
	}
	return parse(string(b))
}

// invalidJSON introduces the reason why a document is not JSON.
const invalidJSON = "invalid JSON: "

// syntaxError returns the reason why a document is not JSON, and where.
func syntaxError(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	var v any
	err := d.Decode(&v)
	if err == nil {
		rest := bytes.TrimSpace(b[d.InputOffset():])
		return "trailing data after the value, at " + position(b, len(b)-len(rest))
	}
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return "document is empty"
	case errors.As(err, &syntax) && syntax.Offset < int64(len(b)):
		return syntax.Error() + ", at " + position(b, max(0, int(syntax.Offset)-1))
	default:
		return "unexpected end of document"
	}
}

func position(b []byte, offset int) string {
	line := 1 + bytes.Count(b[:offset], []byte("\n"))
	return fmt.Sprintf("line %d column %d", line, offset-bytes.LastIndexByte(b[:offset], '\n'))
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
