package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	var names map[string]json.RawMessage
	if err := json.Unmarshal(added, &names); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if _, replaced := names[key.(string)]; replaced {
			continue
		}
		name, err := Encode(key, "")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, ",%s:%s", name, value)
	}
	if len(names) > 0 {
		fmt.Fprintf(&out, ",%s", added[1:len(added)-1])
	}
	return fmt.Appendf(nil, "{%s}", bytes.TrimPrefix(out.Bytes(), []byte(","))), nil
}
