// Package schema derives JSON Schemas (2020-12) from the Go types that are encoded as
// JSON.
//
// An object is open: a reader ignores members that it does not know, because later
// versions add some. What a member means is in docs/json.md, under the name of the
// object.
package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/google/jsonschema-go/jsonschema"
)

// Dialect is the version of JSON Schema of every schema.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// A Set has the schemas of types by the names of the types. Schemas refer to each other
// as members of $defs.
type Set struct {
	Defs  map[string]*jsonschema.Schema
	types map[string]reflect.Type
}

// NewSet returns a Set without schemas.
func NewSet() Set { return Set{map[string]*jsonschema.Schema{}, map[string]reflect.Type{}} }

// Add adds the type of a value, which is an object, with all that are in it, and returns
// a schema that refers to it. It panics if another type has the name.
func (s Set) Add(value any) *jsonschema.Schema {
	v := reflect.ValueOf(value)
	return s.define(Name(value), v.Type(), func() *jsonschema.Schema { return s.object(v) })
}

// define adds the schema of a type, unless it is known, and returns a schema that refers
// to it.
func (s Set) define(name string, t reflect.Type, of func() *jsonschema.Schema) *jsonschema.Schema {
	switch known := s.types[name]; known {
	case nil:
		s.types[name] = t // of may refer to it
		s.Defs[name] = of()
	case t:
	default:
		panic(fmt.Sprintf("%v and %v have the name %s: give one of them another in names.go", known, t, name))
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// object returns the schema of the members that the JSON of a value can have.
func (s Set) object(v reflect.Value) *jsonschema.Schema {
	if v.Type() == reflect.TypeFor[handoff.Record]() {
		return s.facts()
	}
	o := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, m := range members(v) {
		o.Properties[m.name] = s.of(m.of, m.optional)
		o.PropertyOrder = append(o.PropertyOrder, m.name)
		if !m.optional {
			o.Required = append(o.Required, m.name)
		}
	}
	return o
}

// of returns the schema of a type. A pointer that is not optional can be null.
func (s Set) of(t reflect.Type, optional bool) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		of := s.of(t.Elem(), true)
		if !optional {
			of = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{of, {Type: "null"}}}
		}
		return of
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface:
		return &jsonschema.Schema{}
	case t == reflect.TypeFor[[]byte]():
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.Add(reflect.Zero(t).Interface())
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: s.of(t.Elem(), true)}
	case reflect.Slice, reflect.Array:
		return &jsonschema.Schema{Type: "array", Items: s.of(t.Elem(), true)}
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	}
	return &jsonschema.Schema{Type: "integer"}
}

// A composed value is encoded as an object with the members of several structs. If two
// have the same member, it is that of the first.
type composed interface{ JSONParts() []any }

// A member is one that the JSON of a value can have.
type member struct {
	name     string
	of       reflect.Type
	optional bool
}

// members returns the members of a struct or of a composed value, in their order.
func members(v reflect.Value) (list []member) {
	add := func(more ...member) {
		for _, m := range more {
			if !slices.ContainsFunc(list, func(known member) bool { return known.name == m.name }) {
				list = append(list, m)
			}
		}
	}
	if c, ok := v.Interface().(composed); ok {
		for _, part := range c.JSONParts() {
			add(members(reflect.ValueOf(part))...)
		}
		return list
	}
	var promoted []member
	for _, f := range reflect.VisibleFields(v.Type()) {
		if len(f.Index) > 1 {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			promoted = append(promoted, members(reflect.New(inner).Elem())...)
		case f.IsExported() && name != "-":
			add(member{cmp.Or(name, f.Name), f.Type, strings.Contains(options, "omit")})
		}
	}
	own := list
	list = nil
	add(promoted...)
	return append(slices.DeleteFunc(list, func(m member) bool {
		return slices.ContainsFunc(own, func(o member) bool { return o.name == m.name })
	}), own...)
}
