package jsonschema

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A site is a keyword in a schema that is being compiled.
type site struct {
	*compiler
	s *Schema
	location
}

// keywords are the supported keywords of draft 2020-12 with the functions that
// compile them. The nil ones are annotations.
var keywords map[string]func(site, any) error

func init() {
	keywords = map[string]func(site, any) error{
		"$comment": nil, "default": nil, "examples": nil, "readOnly": nil, "writeOnly": nil,
		"contentEncoding": nil, "contentMediaType": nil, "contentSchema": nil,
		"$schema": site.version, "$id": site.id, "$ref": site.reference, "$defs": site.definitions,
		"definitions": site.definitions,
		"title":       text(func(s *Schema) *string { return &s.title }),
		"description": text(func(s *Schema) *string { return &s.description }),
		"deprecated":  boolean(func(s *Schema) *bool { return &s.deprecated }),

		"type": site.types, "required": site.required, "enum": site.enum, "const": site.constant,
		"format": site.format, "pattern": site.pattern,
		"minLength": count(func(s *Schema) *int { return &s.minLength }), "maxLength": count(func(s *Schema) *int {
			return &s.maxLength
		}),
		"minItems": count(func(s *Schema) *int { return &s.minItems }), "maxItems": count(func(s *Schema) *int {
			return &s.maxItems
		}),
		"minProperties": count(func(s *Schema) *int { return &s.minKeys }),
		"maxProperties": count(func(s *Schema) *int {
			return &s.maxKeys
		}),
		"minContains": count(func(s *Schema) *int { return &s.minContains }),
		"maxContains": count(func(s *Schema) *int {
			return &s.maxContains
		}),
		"minimum": limit(func(s *Schema) **number { return &s.minimum }), "maximum": limit(func(s *Schema) **number {
			return &s.maximum
		}),
		"exclusiveMinimum": limit(func(s *Schema) **number {
			return &s.exclusiveMin
		}), "exclusiveMaximum": limit(func(s *Schema) **number { return &s.exclusiveMax }),
		"multipleOf": site.multipleOf, "uniqueItems": boolean(func(s *Schema) *bool { return &s.unique }),

		"allOf": list(func(s *Schema) *[]*Schema { return &s.allOf }), "anyOf": list(func(s *Schema) *[]*Schema {
			return &s.anyOf
		}),
		"oneOf": list(func(s *Schema) *[]*Schema { return &s.oneOf }), "prefixItems": list(func(s *Schema) *[]*Schema {
			return &s.prefix
		}),
		"not":   one(func(s *Schema) **Schema { return &s.not }),
		"if":    one(func(s *Schema) **Schema { return &s.condition }),
		"then":  one(func(s *Schema) **Schema { return &s.then }),
		"else":  one(func(s *Schema) **Schema { return &s.els }),
		"items": one(func(s *Schema) **Schema { return &s.items }), "contains": one(func(s *Schema) **Schema {
			return &s.contains
		}),
		"additionalProperties": one(func(s *Schema) **Schema {
			return &s.additional
		}), "propertyNames": one(func(s *Schema) **Schema { return &s.keys }),
		"properties":        named(func(s *Schema) *map[string]*Schema { return &s.properties }),
		"dependentSchemas":  named(func(s *Schema) *map[string]*Schema { return &s.dependentSchemas }),
		"dependentRequired": site.dependentRequired, "patternProperties": site.patternProperties,
	}
}

func (t site) mustBe(what string) error { return t.errorf("must be %s", what) }

func text(field func(*Schema) *string) func(site, any) error {
	return func(t site, v any) error {
		s, ok := v.(string)
		if !ok {
			return t.mustBe("a string")
		}
		*field(t.s) = s
		return nil
	}
}

func boolean(field func(*Schema) *bool) func(site, any) error {
	return func(t site, v any) error {
		b, ok := v.(bool)
		if !ok {
			return t.mustBe("true or false")
		}
		*field(t.s) = b
		return nil
	}
}

func count(field func(*Schema) *int) func(site, any) error {
	return func(t site, v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return t.mustBe("a number")
		}
		r, ok := rational(n)
		if !ok || !r.IsInt() || r.Sign() < 0 || !r.Num().IsInt64() {
			return t.mustBe("a non-negative integer")
		}
		*field(t.s) = int(r.Num().Int64())
		return nil
	}
}

func limit(field func(*Schema) **number) func(site, any) error {
	return func(t site, v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return t.mustBe("a number")
		}
		l, ok := newNumber(n)
		if !ok {
			return t.mustBe("a number that is not too large or too precise")
		}
		*field(t.s) = l
		return nil
	}
}

func one(field func(*Schema) **Schema) func(site, any) error {
	return func(t site, v any) error {
		s, err := t.schema(t.location, v)
		*field(t.s) = s
		return err
	}
}

func list(field func(*Schema) *[]*Schema) func(site, any) error {
	return func(t site, v any) error {
		docs, ok := v.([]any)
		if !ok || len(docs) == 0 {
			return t.mustBe("a list of schemas")
		}
		for i, doc := range docs {
			s, err := t.schema(t.child(strconv.Itoa(i)), doc)
			if err != nil {
				return err
			}
			*field(t.s) = append(*field(t.s), s)
		}
		return nil
	}
}

func named(field func(*Schema) *map[string]*Schema) func(site, any) error {
	return func(t site, v any) error {
		docs, ok := v.(map[string]any)
		if !ok {
			return t.mustBe("an object of schemas")
		}
		schemas := map[string]*Schema{}
		*field(t.s) = schemas
		for _, name := range sortedKeys(docs) {
			s, err := t.schema(t.child(name), docs[name])
			if err != nil {
				return err
			}
			schemas[name] = s
		}
		return nil
	}
}

func (t site) version(v any) error {
	if s, ok := v.(string); !ok || strings.TrimSuffix(s, "#") != draft {
		return t.errorf("is %s; the supported version is %s", show(v), draft)
	}
	return nil
}

func (t site) id(any) error {
	if len(t.path) > 1 {
		return t.errorf("is supported only at the root of a document")
	}
	return nil
}

func (t site) reference(v any) error {
	ref, ok := v.(string)
	if !ok {
		return t.mustBe("a string")
	}
	s, err := t.resolve(t.location, ref)
	t.s.ref = s
	return err
}

func (t site) definitions(v any) error {
	return named(func(*Schema) *map[string]*Schema { return new(map[string]*Schema) })(t, v)
}

func (t site) types(v any) error {
	words, ok := v.([]any)
	if word, single := v.(string); single {
		words, ok = []any{word}, true
	}
	if !ok {
		return t.mustBe("a type or a list of types")
	}
	for _, v := range words {
		word, _ := v.(string)
		if !slices.Contains([]string{"null", "boolean", "string", "number", "integer", "array", "object"}, word) {
			return t.errorf("unknown type %s", show(v))
		}
		t.s.types = append(t.s.types, word)
	}
	return nil
}

func (t site) required(v any) error {
	words, ok := stringsOf(v)
	if !ok {
		return t.mustBe("a list of keys")
	}
	t.s.required = words
	return nil
}

func stringsOf(v any) ([]string, bool) {
	items, ok := v.([]any)
	var words []string
	for _, item := range items {
		word, isText := item.(string)
		ok = ok && isText
		words = append(words, word)
	}
	return words, ok
}

func (t site) enum(v any) error {
	values, ok := v.([]any)
	if !ok {
		return t.mustBe("a list of values")
	}
	t.s.enum = append([]any{}, values...)
	return nil
}

func (t site) constant(v any) error {
	t.s.constant = []any{v}
	return nil
}

func (t site) format(v any) error {
	name, _ := v.(string)
	if formats[name] == nil {
		return t.errorf("unsupported format %s (use %s)", show(v), strings.Join(sortedKeys(formats), ", "))
	}
	t.s.format = name
	return nil
}

func (t site) pattern(v any) error {
	pattern, ok := v.(string)
	if !ok {
		return t.mustBe("a pattern")
	}
	p, err := regexp.Compile(pattern)
	if err != nil {
		return t.errorf("%w", err)
	}
	t.s.pattern = p
	return nil
}

func (t site) multipleOf(v any) error {
	err := limit(func(s *Schema) **number { return &s.multipleOf })(t, v)
	if err == nil && t.s.multipleOf.exact.Sign() <= 0 {
		return t.mustBe("greater than 0")
	}
	return err
}

func (t site) dependentRequired(v any) error {
	object, ok := v.(map[string]any)
	t.s.dependent = map[string][]string{}
	for key, needs := range object {
		words, fine := stringsOf(needs)
		ok = ok && fine
		t.s.dependent[key] = words
	}
	if !ok {
		return t.mustBe("an object of lists of keys")
	}
	return nil
}

func (t site) patternProperties(v any) error {
	var schemas map[string]*Schema
	if err := named(func(*Schema) *map[string]*Schema { return &schemas })(t, v); err != nil {
		return err
	}
	for _, pattern := range sortedKeys(schemas) {
		p, err := regexp.Compile(pattern)
		if err != nil {
			return t.errorf("%w", err)
		}
		t.s.patterns = append(t.s.patterns, patternSchema{p, schemas[pattern]})
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
