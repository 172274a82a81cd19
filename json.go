package handoff

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeJSON returns v as JSON on one line, without the HTML escapes that
// json.Marshal adds and without a newline at the end.
func EncodeJSON(v any) ([]byte, error) { return encodeJSON(v, "") }

// EncodeJSONIndent is EncodeJSON with one member per line, indented by two
// spaces.
func EncodeJSONIndent(v any) ([]byte, error) { return encodeJSON(v, "  ") }

func encodeJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// withFields returns the JSON object b with the fields of v, a struct, added at
// the end. They replace members of b with the same name.
func withFields(b []byte, v any) ([]byte, error) {
	added, err := EncodeJSON(v)
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
		name, err := EncodeJSON(key)
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
