// Package jsonschema validates JSON values against JSON Schemas, draft 2020-12.
//
// It reports every problem, each with a JSON pointer, in a stable order. Compile
// rejects unsupported keywords, so none is silently ignored: unevaluatedItems,
// unevaluatedProperties, dynamic references, $anchor, and $id anywhere but at the
// root of a document. Keywords that start with x- are allowed and ignored.
//
// Values must be decoded by encoding/json with UseNumber.
package jsonschema

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Problem is one sentence about one part of a value.
type Problem struct {
	Pointer string `json:"pointer"` // RFC 6901; "" is the whole value
	Text    string `json:"text"`
}

func (p Problem) String() string { return cmp.Or(p.Pointer, "(root)") + ": " + p.Text }

// Pointer returns the JSON pointer of a path.
func Pointer(path ...string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Sort sorts problems by pointer, array indexes by number, and removes
// duplicates.
func Sort(list []Problem) []Problem {
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(slices.CompareFunc(strings.Split(a.Pointer, "/"), strings.Split(b.Pointer, "/"), compareStep),
			cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(list)
}

func compareStep(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	at string // its location, for errors of compilation

	title, description string
	deprecated         bool

	never    bool // the schema false
	types    []string
	required []string
	enum     []any
	constant []any // one value, or none

	format                                                   string
	pattern                                                  *regexp.Regexp
	minLength, maxLength                                     int
	minimum, maximum, exclusiveMin, exclusiveMax, multipleOf *number

	ref                       *Schema
	allOf, anyOf, oneOf       []*Schema
	not, condition, then, els *Schema

	properties               map[string]*Schema
	patterns                 []patternSchema
	additional, keys         *Schema
	dependent                map[string][]string
	dependentSchemas         map[string]*Schema
	minKeys, maxKeys         int
	prefix                   []*Schema
	items, contains          *Schema
	minItems, maxItems       int
	minContains, maxContains int
	unique                   bool
}

// A patternSchema applies to the keys that a pattern matches.
type patternSchema struct {
	pattern *regexp.Regexp
	schema  *Schema
}

// unbounded is the value of a limit that is not set.
const unbounded = -1

// Required returns the keys that the schema itself requires.
func (s *Schema) Required() []string { return slices.Clone(s.required) }

// parts returns the schemas that apply to the same value as s.
func (s *Schema) parts() []*Schema {
	list := []*Schema{s.ref, s.not, s.condition, s.then, s.els}
	list = append(append(append(list, s.allOf...), s.anyOf...), s.oneOf...)
	for _, d := range s.dependentSchemas {
		list = append(list, d)
	}
	return slices.DeleteFunc(list, func(s *Schema) bool { return s == nil })
}

// A Step is one element of a path to a value: a key or an array index.
type Step struct {
	Key   string
	Index int // -1 for a key
}

// PointerTo returns the JSON pointer of a path.
func PointerTo(path []Step) string {
	words := make([]string, len(path))
	for i, s := range path {
		if words[i] = s.Key; s.Index >= 0 {
			words[i] = strconv.Itoa(s.Index)
		}
	}
	return Pointer(words...)
}
