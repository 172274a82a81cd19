package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/schema"
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
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, []Problem{{Text: "is no JSON: " + syntax(b, err)}}
	}
	if rest := bytes.TrimSpace(b[d.InputOffset():]); len(rest) > 0 {
		return nil, []Problem{{Text: "is no JSON: there is more after the value, at " + place(b, len(b)-len(rest))}}
	}
	v, beyond := numbers(v, nil)
	return v, append(beyond, repeated(b)...)
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

// A trail is a path into a value, built from its end so that it costs nothing
// until it is asked for.
type trail struct {
	up    *trail
	key   string
	index int // -1 where it is a key
}

func (t *trail) path() []string {
	if t == nil {
		return nil
	}
	if t.index < 0 {
		return append(t.up.path(), t.key)
	}
	return append(t.up.path(), strconv.Itoa(t.index))
}

// numbers finds numbers that are beyond what programs calculate with, and puts
// 0 in their place, so that the rest can be looked at.
func numbers(v any, at *trail) (any, []Problem) {
	var found []Problem
	below := func(child any, at *trail) any {
		child, more := numbers(child, at)
		found = append(found, more...)
		return child
	}
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if mayHold(child) {
				v[key] = below(child, &trail{at, key, -1})
			}
		}
	case []any:
		for i, child := range v {
			if mayHold(child) {
				v[i] = below(child, &trail{at, "", i})
			}
		}
	case json.Number:
		if !calculable(string(v)) {
			return json.Number("0"), []Problem{{Pointer: schema.Pointer(at.path()...), Text: "is a number beyond what programs calculate with"}}
		}
	}
	return v, found
}

func container(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// mayHold reports whether a value is, or may hold, a number to look at.
func mayHold(v any) bool {
	if n, ok := v.(json.Number); ok {
		return !calculable(string(n))
	}
	return container(v)
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

// A level is an object or list that is open while JSON is read.
type level struct {
	keys  keys
	list  bool
	key   string // the last one
	index int
}

// enter opens a level. The place of one that was closed is used again.
func enter(open []level, list bool) []level {
	if n := len(open); n < cap(open) {
		open = open[:n+1]
		open[n] = level{keys: keys{few: open[n].keys.few[:0]}, list: list}
		return open
	}
	return append(open, level{list: list})
}

// repeated finds the keys that an object has twice. b is valid JSON.
func repeated(b []byte) []Problem {
	var found []Problem
	var open []level
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{':
			open = enter(open, false)
		case '[':
			open = enter(open, true)
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			open[len(open)-1].index++
		case '"':
			end := stringEnd(b, i)
			top := len(open) - 1
			if top >= 0 && !open[top].list && isKey(b, end) {
				key := unquote(b[i:end])
				if open[top].key = key; !open[top].keys.add(key) {
					at := make([]string, len(open))
					for j, l := range open {
						if at[j] = l.key; l.list {
							at[j] = strconv.Itoa(l.index)
						}
					}
					found = append(found, Problem{Pointer: schema.Pointer(at...), Text: "is there twice"})
				}
			}
			i = end - 1
		}
	}
	return found
}

// keys is a set of strings that costs little while it is small.
type keys struct {
	few  []string
	many map[string]bool
}

const few = 16

// add reports whether the set had not the key.
func (k *keys) add(key string) bool {
	if slices.Contains(k.few, key) || k.many[key] {
		return false
	}
	if len(k.few) < few {
		k.few = append(k.few, key)
		return true
	}
	if k.many == nil {
		k.many = map[string]bool{}
	}
	k.many[key] = true
	return true
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func isKey(b []byte, end int) bool {
	for end < len(b) && strings.IndexByte(" \t\r\n", b[end]) >= 0 {
		end++
	}
	return end < len(b) && b[end] == ':'
}

func unquote(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	var s string
	if json.Unmarshal(b, &s) != nil {
		return string(b)
	}
	return s
}
