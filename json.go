package handoff

import (
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// EncodeJSON returns v as JSON on one line, without the HTML escapes that
// json.Marshal adds and without a newline at the end. Control characters and
// changes of text direction are escaped.
func EncodeJSON(v any) ([]byte, error) { return encode(v, "") }

// EncodeJSONIndent is EncodeJSON with one member per line, indented by two
// spaces.
func EncodeJSONIndent(v any) ([]byte, error) { return encode(v, "  ") }

func encode(v any, indent string) ([]byte, error) {
	b, err := jsonl.Encode(v, indent)
	return printable.JSON(b), err
}

var errNotUTF8 = errors.New("contains invalid UTF-8")

// EncodeText is EncodeJSON for what a record stores: it refuses strings that are not
// valid UTF-8, because JSON would have other bytes.
func EncodeText(v any) ([]byte, error) {
	if !validText(reflect.ValueOf(v)) {
		return nil, errNotUTF8
	}
	return EncodeJSON(v)
}

// validText reports whether every string in a value is valid UTF-8.
func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || validText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // JSON
			return utf8.Valid(v.Bytes())
		}
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if !validText(key) || !validText(value) {
				return false
			}
		}
	}
	return true
}
