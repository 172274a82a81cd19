// Package schema holds JSON values against JSON Schemas, draft 2020-12.
//
// It tells everything that is wrong at once, each with its place as a JSON
// pointer, in an order that is always the same. A keyword that it does not know
// is refused when a schema is compiled: nothing that an author asked for is
// passed over. Those are the keywords of evaluation (unevaluatedItems,
// unevaluatedProperties), of dynamic references, $anchor, and an $id that is
// not the document's own. Names that begin with x- are the author's.
//
// Values are as encoding/json decodes them with UseNumber.
package jsonschema

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Problem is one sentence about one place in a value.
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

// Sort orders problems by pointer, array places by number, each once.
func Sort(list []Problem) []Problem {
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(slices.CompareFunc(strings.Split(a.Pointer, "/"), strings.Split(b.Pointer, "/"), compareStep), cmp.Compare(a.Text, b.Text))
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

// A Schema is compiled, and safe for several goroutines.
type Schema struct {
	at string // where it stands, for errors of compilation

	title, description string
	deprecated         bool

	never    bool // the schema false
	types    []string
	required []string
	enum     []any
	constant []any // one value, or none

	format                                   string
	pattern                                  *regexp.Regexp
	minLength, maxLength                     int
	minimum, maximum, aboveAll, below, times *number

	ref                       *Schema
	allOf, anyOf, oneOf       []*Schema
	not, condition, then, els *Schema

	properties            map[string]*Schema
	patterns              []patterned
	additional, keys      *Schema
	dependent             map[string][]string
	dependentSchemas      map[string]*Schema
	minKeys, maxKeys      int
	prefix                []*Schema
	items, contains       *Schema
	minItems, maxItems    int
	minContains, maxHolds int
	unique                bool
}

// A patterned schema is that of the keys that a pattern matches.
type patterned struct {
	pattern *regexp.Regexp
	schema  *Schema
}

// unbounded is a limit that is not set.
const unbounded = -1

// Required are the keys that every object must have, by the schema itself.
func (s *Schema) Required() []string { return slices.Clone(s.required) }

// parts are the schemas that a value must fit, or may have to, beside s.
func (s *Schema) parts() []*Schema {
	list := []*Schema{s.ref, s.not, s.condition, s.then, s.els}
	list = append(append(append(list, s.allOf...), s.anyOf...), s.oneOf...)
	for _, d := range s.dependentSchemas {
		list = append(list, d)
	}
	return slices.DeleteFunc(list, func(s *Schema) bool { return s == nil })
}

// A Step is one of the way to a value: a key, or a place in a list.
type Step struct {
	Key   string
	Index int // -1 where it is a key
}

// PointerTo returns the JSON pointer of a way.
func PointerTo(way []Step) string {
	path := make([]string, len(way))
	for i, s := range way {
		if path[i] = s.Key; s.Index >= 0 {
			path[i] = strconv.Itoa(s.Index)
		}
	}
	return Pointer(path...)
}
