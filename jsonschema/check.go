package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSteps is the maximum number of schemas that are applied to one value. It
// stops schemas whose cost grows exponentially.
const maxSteps = 5_000_000

// maxProblems is the maximum number of problems reported for one value.
const maxProblems = 10_000

// Check returns the problems of a value, sorted. If there are more than
// maxProblems, one of them says so.
func (s *Schema) Check(v any) []Problem {
	c := &checker{steps: new(int)}
	c.check(s, v)
	if *c.steps > maxSteps {
		c.found = append(c.found, Problem{"", "validation aborted: too many steps"})
	}
	if len(c.found) == maxProblems {
		c.found = append(c.found,
			Problem{"", fmt.Sprintf("has at least %d problems; the rest are omitted", maxProblems)})
	}
	return Sort(c.found)
}

// A checker collects the problems of a value.
type checker struct {
	found []Problem
	steps *int
	path  []Step // to the current value
}

func (c *checker) add(format string, args ...any) {
	if len(c.found) < maxProblems {
		c.found = append(c.found, Problem{PointerTo(c.path), fmt.Sprintf(format, args...)})
	}
}

// addKey is add for a key of the current object.
func (c *checker) addKey(key, format string, args ...any) {
	c.path = append(c.path, Step{key, -1})
	c.add(format, args...)
	c.path = c.path[:len(c.path)-1]
}

// checkChild checks a child of the current value against a schema.
func (c *checker) checkChild(s *Schema, v any, to Step) {
	c.path = append(c.path, to)
	c.check(s, v)
	c.path = c.path[:len(c.path)-1]
}

// try returns the problems of a value with a schema without adding them.
func (c *checker) try(s *Schema, v any) []Problem {
	other := &checker{steps: c.steps, path: slices.Clip(c.path)}
	other.check(s, v)
	return other.found
}

func (c *checker) check(s *Schema, v any) {
	if *c.steps++; *c.steps > maxSteps || len(c.found) == maxProblems {
		return
	}
	if s.never {
		c.add("is not allowed")
		return
	}
	if !s.typeFits(v) {
		c.add("is %s, not %s", article(typeOf(v)), oneOf(s.types, article))
		return
	}
	if s.enum != nil && !slices.ContainsFunc(s.enum, func(choice any) bool { return same(choice, v) }) {
		c.add("is %s, not %s", show(v), oneOf(s.enum, show))
	}
	if s.constant != nil && !same(s.constant[0], v) {
		c.add("is %s, not %s", show(v), show(s.constant[0]))
	}
	switch v := v.(type) {
	case string:
		c.text(s, v)
	case json.Number:
		c.number(s, v)
	case []any:
		c.array(s, v)
	case map[string]any:
		c.object(s, v)
	}
	if s.ref != nil {
		c.check(s.ref, v)
	}
	for _, part := range s.allOf {
		c.check(part, v)
	}
	if s.anyOf != nil || s.oneOf != nil || s.not != nil || s.condition != nil {
		c.combine(s, v)
	}
}

func (s *Schema) typeFits(v any) bool {
	if len(s.types) == 0 || slices.Contains(s.types, typeOf(v)) {
		return true
	}
	n, ok := v.(json.Number)
	return ok && slices.Contains(s.types, "integer") && isInteger(n)
}

func (c *checker) text(s *Schema, v string) {
	if s.minLength != unbounded || s.maxLength != unbounded {
		n := utf8.RuneCountInString(v)
		if n < s.minLength {
			c.add("has %d characters, fewer than %d", n, s.minLength)
		}
		if s.maxLength != unbounded && n > s.maxLength {
			c.add("has %d characters, more than %d", n, s.maxLength)
		}
	}
	if s.pattern != nil && !s.pattern.MatchString(v) {
		if s.title != "" {
			c.add("is not a valid %s", s.title)
		} else {
			c.add("is %s, which does not match %s", show(v), s.pattern)
		}
	}
	if s.format != "" && !formats[s.format](v) {
		c.add("is %s, which does not match format %s", show(v), s.format)
	}
}

func (c *checker) number(s *Schema, v json.Number) {
	if s.minimum != nil && s.minimum.compare(v) < 0 {
		c.add("is %s, less than %s", v, s.minimum.text)
	}
	if s.maximum != nil && s.maximum.compare(v) > 0 {
		c.add("is %s, more than %s", v, s.maximum.text)
	}
	if s.exclusiveMin != nil && s.exclusiveMin.compare(v) <= 0 {
		c.add("is %s, not more than %s", v, s.exclusiveMin.text)
	}
	if s.exclusiveMax != nil && s.exclusiveMax.compare(v) >= 0 {
		c.add("is %s, not less than %s", v, s.exclusiveMax.text)
	}
	if s.multipleOf != nil && !s.multipleOf.divides(v) {
		c.add("is %s, not a multiple of %s", v, s.multipleOf.text)
	}
}

func (c *checker) array(s *Schema, v []any) {
	if len(v) < s.minItems {
		c.add("has %d items, fewer than %d", len(v), s.minItems)
	}
	if s.maxItems != unbounded && len(v) > s.maxItems {
		c.add("has %d items, more than %d", len(v), s.maxItems)
	}
	if s.unique {
		c.unique(v)
	}
	for i, item := range v {
		if i < len(s.prefix) {
			c.checkChild(s.prefix[i], item, Step{Index: i})
		} else if s.items != nil {
			c.checkChild(s.items, item, Step{Index: i})
		}
	}
	if s.contains == nil {
		return
	}
	matches := 0
	for _, item := range v {
		if len(c.try(s.contains, item)) == 0 {
			matches++
		}
	}
	least := s.minContains
	if least == unbounded {
		least = 1
	}
	if matches < least {
		c.add("has %d items that match contains, fewer than %d", matches, least)
	}
	if s.maxContains != unbounded && matches > s.maxContains {
		c.add("has %d items that match contains, more than %d", matches, s.maxContains)
	}
}

func (c *checker) unique(v []any) {
	seen := map[string]int{}
	for i, item := range v {
		text := canonical(item)
		if first, ok := seen[text]; ok {
			c.add("has the same item at %d and %d", first, i)
			return
		}
		seen[text] = i
	}
}

func (c *checker) object(s *Schema, v map[string]any) {
	for _, key := range s.required {
		if _, ok := v[key]; !ok {
			c.addKey(key, "is missing")
		}
	}
	if len(v) < s.minKeys {
		c.add("has %d keys, fewer than %d", len(v), s.minKeys)
	}
	if s.maxKeys != unbounded && len(v) > s.maxKeys {
		c.add("has %d keys, more than %d", len(v), s.maxKeys)
	}
	for key, needs := range s.dependent {
		if _, ok := v[key]; !ok {
			continue
		}
		for _, need := range needs {
			if _, ok := v[need]; !ok {
				c.addKey(need, "is required when %s is present", key)
			}
		}
	}
	for key, part := range s.dependentSchemas {
		if _, ok := v[key]; ok {
			c.check(part, v)
		}
	}
	if s.properties == nil && s.patterns == nil && s.additional == nil && s.keys == nil {
		return
	}
	for key, child := range v {
		c.property(s, key, child)
	}
}

func (c *checker) property(s *Schema, key string, child any) {
	here := Step{key, -1}
	schema, named := s.properties[key]
	if named {
		c.checkChild(schema, child, here)
	}
	for _, p := range s.patterns {
		if p.pattern.MatchString(key) {
			named = true
			c.checkChild(p.schema, child, here)
		}
	}
	if !named && s.additional != nil {
		c.checkChild(s.additional, child, here)
	}
	if s.keys == nil {
		return
	}
	for _, p := range c.try(s.keys, key) {
		c.addKey(key, "key %s", p.Text)
	}
}

// combine checks a value against anyOf, oneOf, not and if.
func (c *checker) combine(s *Schema, v any) {
	if s.anyOf != nil {
		c.alternatives(s.anyOf, v, len(s.anyOf))
	}
	if s.oneOf != nil {
		c.alternatives(s.oneOf, v, 1)
	}
	if s.not != nil && len(c.try(s.not, v)) == 0 {
		c.add("matches a schema that is not allowed")
	}
	if s.condition == nil {
		return
	}
	branch := s.then
	if len(c.try(s.condition, v)) > 0 {
		branch = s.els
	}
	if branch != nil {
		c.check(branch, v)
	}
}

// alternatives checks that a value matches at least one and at most most of
// several schemas. If each one lacks a single key, that is one problem: one of
// the keys is required.
func (c *checker) alternatives(schemas []*Schema, v any, most int) {
	matches := 0
	var missing, texts []string
	for _, schema := range schemas {
		found := Sort(c.try(schema, v))
		if len(found) == 0 {
			matches++
			continue
		}
		if len(found) == 1 && len(schema.required) == 1 && found[0].Text == "is missing" {
			missing = append(missing, schema.required[0])
		}
		for _, p := range found {
			texts = append(texts, strings.TrimSpace(strings.TrimPrefix(p.Pointer, PointerTo(c.path))+" "+p.Text))
		}
	}
	slices.Sort(texts)
	switch {
	case matches > most:
		c.add("matches more than one of the schemas in oneOf")
	case matches > 0:
	case len(missing) == len(schemas):
		c.addKey(missing[0], "is missing; one of %s is required", strings.Join(missing, ", "))
	default:
		c.add("matches none of the alternatives: %s", strings.Join(slices.Compact(texts), "; "))
	}
}
