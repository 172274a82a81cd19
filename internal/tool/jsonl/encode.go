package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Encode returns v as JSON without the HTML escapes that json.Marshal adds and
// without a newline at the end. With an indent there is one member per line.
func Encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WithFields returns the JSON object b with the members of v, a struct or a map,
// added at the end. They replace members of b with the same name.
func WithFields(b []byte, v any) ([]byte, error) {
	added, err := Encode(v, "")
	if err != nil {
		return nil, err
	}
	var names []string
	for c := Value(added).Members(); c.Next(); {
		names = append(names, c.Key())
	}
	out := append(make([]byte, 0, len(b)+len(added)), '{')
	c := Value(b).Members()
	for c.Next() {
		if !slices.Contains(names, c.Key()) {
			out = append(append(append(append(out, c.key.of(c.b)...), ':'), c.Value()...), ',')
		}
	}
	if !c.Closed() {
		return nil, errors.New("not a JSON object")
	}
	if len(names) > 0 {
		return append(out, added[1:]...), nil
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}'), nil
}
