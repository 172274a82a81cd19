package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// A format is how a kind of file is written. Both methods keep every byte that
// they need not change.
type format interface {
	// decode returns the value of a file: a map for an object or a table. It must
	// not rely on what set and remove use to find their place.
	decode(text []byte) (map[string]any, error)

	// edit returns the text with a value at a path, or without the one that is
	// there if value is nil. A path has the names of members and the numbers of
	// elements; the number after the last one appends.
	edit(text []byte, path []any, value any) ([]byte, error)
}

// An editor changes the text of a file and, independently, its value.
type editor struct {
	format format
	text   []byte
	value  map[string]any
}

func newEditor(f format, text []byte) (*editor, error) {
	value, err := f.decode(text)
	return &editor{f, text, value}, err
}

// formatOf returns the format of a file.
func formatOf(file string) format {
	if strings.HasSuffix(file, ".toml") {
		return tomlFormat{}
	}
	return jsonFormat{}
}

// set puts a value at a path, remove takes it away. Both change the text and the
// value, or nothing.
func (e *editor) set(path []any, value any) error {
	value = plain(value)
	text, err := e.format.edit(e.text, path, value)
	if err == nil {
		e.text = text
		e.value, _ = changed(e.value, path, value).(map[string]any)
	}
	return err
}

func (e *editor) remove(path []any) error { return e.set(path, nil) }

var errInexact = errors.New("can't be edited without changing something else")

var errForm = errors.New("has another form than init can add an entry to")

// errInline is the error of an inline table of TOML, which no line outside it can extend.
var errInline = errors.New("is an inline table, which init does not edit")

// check returns an error unless the text has the value that the edits must give.
// An edit that misunderstands the file is found here, before anything is written.
func (e *editor) check() error {
	now, err := e.format.decode(e.text)
	if err != nil {
		return errInexact
	}
	if _, ok := e.format.(tomlFormat); ok && equal(withoutEmpty(now), withoutEmpty(e.value)) {
		return nil // a table that has only tables need not be written
	}
	if !equal(now, e.value) {
		return errInexact
	}
	return nil
}

// withoutEmpty returns a value without empty tables.
func withoutEmpty(v any) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	rest := map[string]any{}
	for name, v := range table {
		if v = withoutEmpty(v); !empty(v) || reflect.TypeOf(v).Kind() == reflect.Slice {
			rest[name] = v
		}
	}
	return rest
}

// at returns what is at a path.
func (e *editor) at(path []any) (any, bool) { return lookup(e.value, path) }

func lookup(v any, path []any) (any, bool) {
	for _, p := range path {
		switch at := v.(type) {
		case map[string]any:
			name, _ := p.(string)
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := p.(int)
			if !ok || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// changed returns v with a value at a path, or without it if value is nil. Objects
// that are missing on the way are added.
func changed(v any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch p := path[0].(type) {
	case string:
		object := map[string]any{}
		if was, ok := v.(map[string]any); ok {
			for k, w := range was {
				object[k] = w
			}
		}
		if value == nil && len(path) == 1 {
			delete(object, p)
			return object
		}
		object[p] = changed(object[p], path[1:], value)
		return object
	case int:
		list, _ := v.([]any)
		switch after := list[min(p, len(list)):]; {
		case value == nil && len(path) == 1:
			return append(append([]any{}, list[:p]...), after[1:]...)
		case len(after) == 0:
			return append(append([]any{}, list...), changed(nil, path[1:], value))
		default:
			return append(append(append([]any{}, list[:p]...), changed(list[p], path[1:], value)), after[1:]...)
		}
	}
	return v
}

// plain returns a value in the types that a file is decoded to.
func plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var p any
	if d.Decode(&p) != nil {
		return v
	}
	return p
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// empty reports whether a value is an object or a list without anything.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// pathText returns a path as a person writes it.
func pathText(path []any) string {
	var words []string
	for _, p := range path {
		words = append(words, fmt.Sprint(p))
	}
	return strings.Join(words, ".")
}
