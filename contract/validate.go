package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxArtifact is the size of the largest artifact that is read, in bytes.
const MaxArtifact = 16 << 20

// A Problem is one sentence about one place in an artifact.
type Problem struct {
	Pointer string `json:"pointer"` // RFC 6901; "" is the whole document
	Text    string `json:"text"`
}

func (p Problem) String() string { return cmp.Or(p.Pointer, "(root)") + ": " + p.Text }

// A Report is what a contract says of an artifact: all of it, sorted by pointer.
type Report struct {
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`

	// Value is the artifact, nil where it is no JSON object. Its numbers are
	// json.Number.
	Value map[string]any `json:"-"`
}

// Valid reports whether there are no errors. Warnings don't count.
func (r Report) Valid() bool { return len(r.Errors) == 0 }

// Pointer returns the JSON pointer of a path.
func Pointer(path ...string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Validate holds an artifact against the contract of the named stage. Its kind
// is Invalid, where there is no such stage.
func (p *Pipeline) Validate(stage string, b []byte) (Report, error) {
	s, err := p.Stage(stage)
	if err != nil {
		return Report{}, err
	}
	return s.Validate(b), nil
}

// Validate holds an artifact against the stage's contract: types, values and
// nested shapes are errors; keys that the contract doesn't name, and those that
// have a newer name, are warnings.
func (s *Stage) Validate(b []byte) Report {
	value, broken := decode(b)
	r := Report{Errors: broken, Warnings: []Problem{}}
	r.Value, _ = value.(map[string]any)
	if !slices.ContainsFunc(broken, func(p Problem) bool { return p.Pointer == "" }) {
		schema := s.schema()
		r.Errors = append(schemaErrors(schema, value), broken...)
		r.Warnings = append(r.Warnings, names{}.unknown([]*jsonschema.Schema{schema}, value, nil)...)
		if _, ok := r.Value["self_assessment"]; s.assess && r.Value != nil && !ok {
			r.Errors = append(r.Errors, Problem{"/self_assessment", "is missing; this pipeline requires it"})
		}
	}
	r.Errors, r.Warnings = sorted(r.Errors), sorted(r.Warnings)
	return r
}

// sorted orders problems by pointer, array places by number, each once.
func sorted(list []Problem) []Problem {
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

func schemaErrors(schema *jsonschema.Schema, value any) []Problem {
	found := []Problem{}
	if (quick{}).fits(schema, value, 0) {
		return found
	}
	err := schema.Validate(value)
	if err == nil {
		return found
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return append(found, Problem{"", err.Error()})
	}
	return leaves(found, invalid, value)
}

// names finds the keys of a value that its schemas don't name. It remembers
// which other schemas a schema refers to.
type names map[*jsonschema.Schema][]*jsonschema.Schema

// unknown finds the keys that no schema of the value names, and those whose
// schema calls them deprecated.
func (n names) unknown(schemas []*jsonschema.Schema, value any, at *trail) []Problem {
	var found []Problem
	if len(schemas) == 0 {
		return nil
	}
	schemas = n.together(schemas)
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			below, named, open := property(schemas, key)
			switch {
			case !named && !open:
				found = append(found, Problem{Pointer(append(at.path(), key)...), "is no part of the contract"})
			case slices.ContainsFunc(below, func(s *jsonschema.Schema) bool { return s.Deprecated }):
				found = append(found, Problem{Pointer(append(at.path(), key)...), fmt.Sprintf("is deprecated: %s", below[0].Description)})
			}
			if container(child) {
				found = append(found, n.unknown(below, child, &trail{at, key, -1})...)
			}
		}
	case []any:
		var items []*jsonschema.Schema
		for _, s := range schemas {
			if s.Items2020 != nil {
				items = append(items, s.Items2020)
			}
		}
		for i, child := range value {
			if container(child) {
				found = append(found, n.unknown(items, child, &trail{at, "", i})...)
			}
		}
	}
	return found
}

func (n names) together(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	if len(schemas) != 1 {
		return together(schemas, nil)
	}
	if _, ok := n[schemas[0]]; !ok {
		n[schemas[0]] = together(schemas, nil)
	}
	return n[schemas[0]]
}

func container(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// together returns the schemas with those that they refer to.
func together(schemas, seen []*jsonschema.Schema) []*jsonschema.Schema {
	for _, s := range schemas {
		if s == nil || slices.Contains(seen, s) {
			continue
		}
		seen = append(seen, s)
		seen = together([]*jsonschema.Schema{s.Ref, s.Then, s.Else}, seen)
		seen = together(s.AllOf, seen)
		seen = together(s.AnyOf, seen)
		seen = together(s.OneOf, seen)
	}
	return seen
}

// property returns what schemas say of a key, whether one names it, and whether
// they say nothing of keys at all or allow any.
func property(schemas []*jsonschema.Schema, key string) (below []*jsonschema.Schema, named, open bool) {
	open = true
	for _, s := range schemas {
		if child, ok := s.Properties[key]; ok {
			below, named = append(below, child), true
		}
		for pattern, child := range s.PatternProperties {
			if pattern.MatchString(key) {
				below, named = append(below, child), true
			}
		}
		open = open && len(s.Properties) == 0
	}
	if named {
		return below, true, open
	}
	for _, s := range schemas {
		switch more := s.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			below, open = append(below, more), true
		case bool:
			open = true // false is an error already
		}
	}
	return below, false, open
}
