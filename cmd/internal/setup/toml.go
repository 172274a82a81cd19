package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A tomlFormat is TOML 1.0.
type tomlFormat struct{}

func (tomlFormat) decode(text []byte) (map[string]any, error) {
	value := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(text, byteOrderMark), &value)
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		return nil, fmt.Errorf("is not valid TOML: line %d, column %d: %s", line, column,
			strings.TrimPrefix(at.Error(), "toml: "))
	}
	if err != nil {
		return nil, fmt.Errorf("is not valid TOML: %w", err)
	}
	return value, nil
}

// A statement is a table's head or an assignment, with the bytes that it takes:
// from the start of its first line to the end of its last one.
type statement struct {
	path       []any // of the table or of the value, from the root
	head       bool
	start, end int
	valueStart int
	valueEnd   int
}

// statements returns the statements of a file.
func statements(text []byte) (list []statement, err error) {
	var table []any
	elements := map[string]int{} // of arrays of tables, by their names
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		s := statement{head: e.Kind != unstable.KeyValue, start: -1}
		for names := e.Key(); names.Next(); {
			name := names.Node()
			if s.start < 0 {
				s.start = 1 + bytes.LastIndexByte(text[:name.Raw.Offset], '\n')
			}
			s.path, s.valueStart = append(s.path, string(name.Data)), int(name.Raw.Offset+name.Raw.Length)
		}
		s.valueEnd = s.valueStart
		if s.head {
			s.path = inElement(s.path, elements, e.Kind == unstable.ArrayTable)
			table = s.path
		} else {
			s.path = slices.Concat(table, s.path)
			s.valueStart += 1 + bytes.IndexByte(text[s.valueStart:], '=')
			s.valueEnd = int(e.Raw.Offset + e.Raw.Length)
		}
		if s.end = s.valueEnd + 1 + bytes.IndexByte(text[s.valueEnd:], '\n'); s.end == s.valueEnd {
			s.end = len(text)
		}
		list = append(list, s)
	}
	return list, p.Error()
}

// inElement returns the path of a table with the numbers of elements of arrays of tables. starts reports whether
// the table is the next element of such an array. elements are the numbers of elements so far.
func inElement(names []any, elements map[string]int, starts bool) (path []any) {
	for i, name := range names {
		path = append(path, name)
		key := fmt.Sprintf("%q", path)
		if starts && i == len(names)-1 {
			elements[key]++
		}
		if n := elements[key]; n > 0 {
			path = append(path, n-1)
		}
	}
	return path
}

// edit replaces, appends or removes whole statements.
func (tomlFormat) edit(text []byte, path []any, value any) ([]byte, error) {
	mark, text := text[:len(text)-len(bytes.TrimPrefix(text, byteOrderMark))], bytes.TrimPrefix(text, byteOrderMark)
	list, err := statements(text)
	if err != nil {
		return nil, errInexact
	}
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	t := tomlText{text, list, end}
	if value == nil {
		text, err = t.remove(path)
	} else {
		text, err = t.set(path, value)
	}
	return append(bytes.Clone(mark), text...), err
}

// A tomlText is a file in statements.
type tomlText struct {
	text []byte
	list []statement
	end  string // of a line
}

// remove removes what is at a path, with all below it.
func (t tomlText) remove(path []any) ([]byte, error) {
	var out []byte
	done, inside := 0, false
	for _, s := range t.list {
		start, end := s.start, s.end
		if s.head {
			if inside = hasPrefix(s.path, path); inside {
				start = t.blankLine(done, start)
			}
		}
		if !inside && !hasPrefix(s.path, path) {
			continue
		}
		out = append(out, t.text[done:start]...)
		done = end
	}
	out = append(out, t.text[done:]...)
	list := path[:len(path)-1]
	other := func(s statement) bool { return hasPrefix(s.path, list) && !hasPrefix(s.path, path) }
	if isElement(path) && !slices.ContainsFunc(t.list, other) { // no element is left
		return tomlFormat{}.edit(out, list, []any{})
	}
	return out, nil
}

// blankLine returns the start of the empty line that ends at start, or start.
func (t tomlText) blankLine(after, start int) int {
	for _, blank := range []string{"\r\n", "\n"} {
		if s := start - len(blank); s >= after && string(t.text[s:start]) == blank && (s == 0 || t.text[s-1] == '\n') {
			return s
		}
	}
	return start
}

// set replaces the value at a path, or adds it to its table or as a table.
func (t tomlText) set(path []any, value any) ([]byte, error) {
	if list, ok := value.([]any); ok && len(list) == 1 { // with a table, it is an array of tables
		if _, ok := list[0].(map[string]any); ok {
			path, value = append(slices.Clone(path), 0), list[0]
		}
	}
	for i, s := range t.list {
		switch {
		case !s.head && isElement(path) && slices.Equal(s.path, path[:len(path)-1]):
			if len(bytes.Trim(t.text[s.valueStart:s.valueEnd], " \t\r\n[]")) > 0 {
				return nil, fmt.Errorf("%s %w", pathText(s.path), errForm)
			}
			end := s.end // a comment behind it is kept
			if comment := bytes.IndexByte(t.text[s.valueEnd:end], '#'); comment >= 0 {
				end = s.valueEnd + comment
			}
			t.text = slices.Concat(t.text[:s.start], t.text[end:])
		case !s.head && len(path) > len(s.path) && hasPrefix(path, s.path):
			return nil, fmt.Errorf("%s %w", pathText(s.path), errInline)
		case !slices.Equal(s.path, path):
		case s.head && isElement(path):
			end := s.end
			for _, next := range t.list[i+1:] {
				if hasPrefix(next.path, path) {
					end = next.end
				}
			}
			text, err := tomlTable(path, value.(map[string]any))
			return t.splice(s.start, end, strings.ReplaceAll(text, "\n", t.end)), err
		case !s.head:
			text, err := tomlValue(value)
			return t.splice(s.valueStart, s.valueEnd, " "+text), err
		}
	}
	if table, ok := value.(map[string]any); ok {
		text, err := tomlTable(path, table)
		if len(t.text) > 0 {
			text = "\n" + text
		}
		return t.append(len(t.text), text), err
	}
	line, err := tomlValue(value)
	parent, name := path[:len(path)-1], path[len(path)-1]
	line = tomlKey(name) + " = " + line + "\n"
	at, last := -1, len(parent) == 0
	if last {
		at = 0
	}
	for _, s := range t.list {
		if last = s.head && slices.Equal(s.path, parent) || last && !s.head; last {
			at = s.end
		}
	}
	if at < 0 {
		return nil, errInexact
	}
	return t.append(at, line), err
}

// append puts lines at the end of a line.
func (t tomlText) append(at int, lines string) []byte {
	if at > 0 && t.text[at-1] != '\n' {
		lines = "\n" + lines
	}
	return t.splice(at, at, strings.ReplaceAll(lines, "\n", t.end))
}

func (t tomlText) splice(start, end int, text string) []byte {
	return slices.Concat(t.text[:start], []byte(text), t.text[end:])
}

func hasPrefix(path, prefix []any) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// isElement reports whether a path is that of an element of an array of tables.
func isElement(path []any) bool {
	_, ok := path[len(path)-1].(int)
	return ok
}

// tomlTable returns the lines of a table.
func tomlTable(path []any, table map[string]any) (string, error) {
	var keys []string
	open, end := "[", "]\n"
	if isElement(path) {
		open, end = "[[", "]]\n"
		path = path[:len(path)-1]
	}
	for _, name := range path {
		keys = append(keys, tomlKey(name))
	}
	text := open + strings.Join(keys, ".") + end
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, err := tomlValue(table[name])
		if err != nil {
			return "", err
		}
		text += tomlKey(name) + " = " + value + "\n"
	}
	return text, nil
}

// tomlKey returns a name as it is written in a key.
func tomlKey(name any) string {
	text := fmt.Sprint(name)
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return tomlString(text)
}

// tomlValue returns a value on one line.
func tomlValue(v any) (string, error) {
	var parts []string
	switch v := v.(type) {
	case string:
		return tomlString(v), nil
	case bool, int64, json.Number:
		return fmt.Sprint(v), nil
	case []any:
		for _, e := range v {
			text, err := tomlValue(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, err := tomlValue(v[name])
			if err != nil {
				return "", err
			}
			parts = append(parts, tomlKey(name)+" = "+text)
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return "", errInexact
}

// tomlString returns a text as a basic string of TOML 1.0: that of JSON, in which DEL
// is not escaped.
func tomlString(s string) string {
	text, _ := handoff.EncodeJSON(s) // any text can be encoded
	return strings.ReplaceAll(string(text), "\x7f", `\u007F`)
}
