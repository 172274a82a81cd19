package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// FieldNames returns the names of the members that the JSON of structs can have,
// in their order. The types must not have a MarshalJSON.
func FieldNames(structs ...any) (names []string) {
	for _, v := range structs {
		t := reflect.TypeOf(v)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && f.IsExported() {
				names = append(names, name)
			}
		}
	}
	return names
}

// Select returns the JSON object b with the named members only, in the order of
// the names. A name that b does not have is left out.
func Select(b []byte, names []string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, name := range names {
		if value, ok := members[name]; ok {
			fmt.Fprintf(&out, ",%q:%s", name, value)
			delete(members, name) // a name that is given twice
		}
	}
	return fmt.Appendf(nil, "{%s}", bytes.TrimPrefix(out.Bytes(), []byte(","))), nil
}
