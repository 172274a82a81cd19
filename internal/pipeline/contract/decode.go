package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNumber is the length of the longest number, in bytes: exact arithmetic on
// longer ones, or on huge exponents, would cost more than any artifact is worth.
const maxNumber = 64

// decode parses one JSON value. Numbers stay as they are written. What makes the
// bytes no JSON is returned as a problem of the whole document; a key that an
// object has twice is one too, because readers differ in which they believe.
func decode(b []byte) (any, []Problem) {
	if len(b) > MaxArtifact {
		return nil, []Problem{{Text: fmt.Sprintf("has %d bytes, more than %d", len(b), MaxArtifact)}}
	}
	if !utf8.Valid(b) {
		return nil, []Problem{{Text: "is not UTF-8"}}
	}
	if v, found, ok := parse(string(b)); ok {
		return v, found
	}
	return nil, []Problem{{Text: "is no JSON: " + broken(b)}}
}

// broken says what makes a document no JSON.
func broken(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	var v any
	if err := d.Decode(&v); err != nil {
		return syntax(b, err)
	}
	rest := bytes.TrimSpace(b[d.InputOffset():])
	return "there is more after the value, at " + place(b, len(b)-len(rest))
}

// syntax says what the parser found, and where.
func syntax(b []byte, err error) string {
	switch e, ok := err.(*json.SyntaxError); {
	case len(bytes.TrimSpace(b)) == 0:
		return "it is empty"
	case ok && e.Offset < int64(len(b)):
		return e.Error() + ", at " + place(b, max(0, int(e.Offset)-1))
	default:
		return "it ends too early"
	}
}

func place(b []byte, offset int) string {
	line := 1 + bytes.Count(b[:offset], []byte("\n"))
	return fmt.Sprintf("line %d column %d", line, offset-bytes.LastIndexByte(b[:offset], '\n'))
}

func calculable(n string) bool {
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
