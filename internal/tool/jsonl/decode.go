package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Unmarshal is json.Unmarshal of an object into the struct that into points to, in one pass if
// its members have the order of the fields. These are zero, and no type in the struct has methods
// that decode it.
func Unmarshal(text string, into any) error {
	b := []byte(text)
	if Valid(b) {
		d := Decoder{b, text}
		c := d.object.Members()
		if c.Next(); d.object.Kind() == Object && d.Fields(&c, into) && c.Name() == nil {
			return nil
		}
	}
	return json.Unmarshal(b, into)
}

// A Decoder decodes one valid JSON object whose members have the order of the
// fields that they are stored in. Strings without escapes share its text.
type Decoder struct {
	object Value
	text   string
}

// NewDecoder returns a Decoder for an object, and a cursor at its first member.
func NewDecoder(b []byte) (Decoder, Cursor) {
	d := Decoder{b, string(b)}
	c := d.object.Members()
	c.Next()
	return d, c
}

// Fields sets the fields of a struct, to which into points, from the members
// that c is at and after, up to the first that is not a later field. It reports
// false if a member is not of its field's type.
func (d Decoder) Fields(c *Cursor, into any) bool {
	return d.fields(c, reflect.ValueOf(into).Elem())
}

// fields sets the fields of a struct from the members that c is at and after,
// up to the first that is not a later field.
func (d Decoder) fields(c *Cursor, into reflect.Value) bool {
	for i, name := range fieldNames(into.Type()) {
		if string(c.Name()) != name || name == "" || name == "-" {
			continue
		}
		if !d.value(c.Value(), into.Field(i)) {
			return false
		}
		c.Next()
	}
	return true
}

var fieldNamesOf sync.Map // []string by reflect.Type

// fieldNames returns the JSON names of a struct's fields, in their order.
func fieldNames(t reflect.Type) []string {
	if names, ok := fieldNamesOf.Load(t); ok {
		return names.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	fieldNamesOf.Store(t, names)
	return names
}

// value sets a field, or reports that v is not of its type.
func (d Decoder) value(v Value, into reflect.Value) bool {
	switch into.Kind() {
	case reflect.String:
		if v.Kind() != String {
			return false
		}
		into.SetString(d.string(v))
		return true
	case reflect.Bool:
		into.SetBool(v.True())
		return v.Kind() == Bool
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(v), 10, 64)
		into.SetInt(n)
		return err == nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(string(v), 64)
		into.SetFloat(n)
		return err == nil && v.Kind() == Number
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return d.value(v, into.Elem())
	case reflect.Struct:
		if t, ok := into.Addr().Interface().(*time.Time); ok {
			return t.UnmarshalJSON(v) == nil
		}
		c := v.Members()
		c.Next()
		return v.Kind() == Object && d.fields(&c, into) && c.Name() == nil
	case reflect.Slice:
		return d.elements(v, into)
	case reflect.Map:
		return v.Kind() == Object && d.entries(v, into)
	}
	return false
}

func (d Decoder) string(v Value) string {
	if len(v) < 2 || bytes.IndexByte(v, '\\') >= 0 {
		return v.Text()
	}
	at := d.object.Span(v).Offset
	return d.text[at+1 : at+int64(len(v))-1]
}

func (d Decoder) elements(v Value, into reflect.Value) bool {
	switch list := into.Addr().Interface().(type) {
	case *json.RawMessage:
		*list = bytes.Clone(v)
		return true
	case *[]string: // the most frequent list, without reflection
		*list = []string{}
		for c := v.Elements(); c.Next(); {
			if c.Value().Kind() != String {
				return false
			}
			*list = append(*list, d.string(c.Value()))
		}
		return v.Kind() == Array
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	for c := v.Elements(); c.Next(); {
		n := into.Len()
		into.Grow(1)
		into.SetLen(n + 1)
		if !d.value(c.Value(), into.Index(n)) {
			return false
		}
	}
	return v.Kind() == Array
}

func (d Decoder) entries(v Value, into reflect.Value) bool {
	into.Set(reflect.MakeMap(into.Type()))
	for c := v.Members(); c.Next(); {
		entry := reflect.New(into.Type().Elem()).Elem()
		if !d.value(c.Value(), entry) {
			return false
		}
		into.SetMapIndex(reflect.ValueOf(c.Key()), entry)
	}
	return true
}
