package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSteps is how many schemas are looked at for one value: more than any
// artifact and schema of a sane size need, and an end for those that multiply.
const maxSteps = 5_000_000

// maxProblems is how many problems are told of one value: more than anyone
// reads, and few enough that they cost less than the value itself.
const maxProblems = 10_000

// Check returns everything in which a value breaks the schema, sorted; of more
// than maxProblems one says so.
func (s *Schema) Check(v any) []Problem {
	c := &checker{steps: new(int)}
	c.check(s, v)
	if *c.steps > maxSteps {
		c.found = append(c.found, Problem{"", "takes too long to hold against its schema"})
	}
	if len(c.found) == maxProblems {
		c.found = append(c.found, Problem{"", fmt.Sprintf("breaks its schema in more than %d places", maxProblems)})
	}
	return Sort(c.found)
}

// A checker collects what it finds.
type checker struct {
	found []Problem
	steps *int
	way   []Step // to the value that is looked at
}

func (c *checker) add(format string, args ...any) {
	if len(c.found) < maxProblems {
		c.found = append(c.found, Problem{PointerTo(c.way), fmt.Sprintf(format, args...)})
	}
}

// addKey is add for a key of the object that is looked at.
func (c *checker) addKey(key, format string, args ...any) {
	c.within(Step{key, -1}, func() { c.add(format, args...) })
}

func (c *checker) within(s Step, do func()) {
	c.way = append(c.way, s)
	do()
	c.way = c.way[:len(c.way)-1]
}

// below holds what lies a step further against a schema.
func (c *checker) below(s *Schema, v any, to Step) {
	c.way = append(c.way, to)
	c.check(s, v)
	c.way = c.way[:len(c.way)-1]
}

// apart returns what a schema would find, and adds nothing.
func (c *checker) apart(s *Schema, v any) []Problem {
	other := &checker{steps: c.steps, way: slices.Clip(c.way)}
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
		c.choose(s, v)
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
			c.add("is no %s", s.title)
		} else {
			c.add("is %s, which does not match %s", show(v), s.pattern)
		}
	}
	if s.format != "" && !formats[s.format](v) {
		c.add("is %s, which is no %s", show(v), s.format)
	}
}

func (c *checker) number(s *Schema, v json.Number) {
	if s.minimum != nil && s.minimum.compare(v) < 0 {
		c.add("is %s, less than %s", v, s.minimum.text)
	}
	if s.maximum != nil && s.maximum.compare(v) > 0 {
		c.add("is %s, more than %s", v, s.maximum.text)
	}
	if s.aboveAll != nil && s.aboveAll.compare(v) <= 0 {
		c.add("is %s, not more than %s", v, s.aboveAll.text)
	}
	if s.below != nil && s.below.compare(v) >= 0 {
		c.add("is %s, not less than %s", v, s.below.text)
	}
	if s.times != nil && !s.times.divides(v) {
		c.add("is %s, no multiple of %s", v, s.times.text)
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
			c.below(s.prefix[i], item, Step{Index: i})
		} else if s.items != nil {
			c.below(s.items, item, Step{Index: i})
		}
	}
	if s.contains == nil {
		return
	}
	holds := 0
	for _, item := range v {
		if len(c.apart(s.contains, item)) == 0 {
			holds++
		}
	}
	least := s.minContains
	if least == unbounded {
		least = 1
	}
	if holds < least {
		c.add("has %d items of a shape that at least %d must have", holds, least)
	}
	if s.maxHolds != unbounded && holds > s.maxHolds {
		c.add("has %d items of a shape that at most %d may have", holds, s.maxHolds)
	}
}

func (c *checker) unique(v []any) {
	seen := map[string]int{}
	for i, item := range v {
		text := canonical(item)
		if first, twice := seen[text]; twice {
			c.add("has the same item at %d and %d", first, i)
			return
		}
		seen[text] = i
	}
}

func (c *checker) object(s *Schema, v map[string]any) {
	for _, key := range s.required {
		if _, there := v[key]; !there {
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
		if _, there := v[key]; !there {
			continue
		}
		for _, need := range needs {
			if _, there := v[need]; !there {
				c.addKey(need, "is missing, which %s calls for", key)
			}
		}
	}
	for key, part := range s.dependentSchemas {
		if _, there := v[key]; there {
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
	below, named := s.properties[key]
	if named {
		c.below(below, child, here)
	}
	for _, p := range s.patterns {
		if p.pattern.MatchString(key) {
			named = true
			c.below(p.schema, child, here)
		}
	}
	if !named && s.additional != nil {
		c.below(s.additional, child, here)
	}
	if s.keys == nil {
		return
	}
	for _, p := range c.apart(s.keys, key) {
		c.addKey(key, "has a name that %s", p.Text)
	}
}

// choose holds a value against alternatives and conditions.
func (c *checker) choose(s *Schema, v any) {
	if s.anyOf != nil {
		c.alternatives(s.anyOf, v, len(s.anyOf))
	}
	if s.oneOf != nil {
		c.alternatives(s.oneOf, v, 1)
	}
	if s.not != nil && len(c.apart(s.not, v)) == 0 {
		c.add("has a shape that is not allowed")
	}
	if s.condition == nil {
		return
	}
	branch := s.then
	if len(c.apart(s.condition, v)) > 0 {
		branch = s.els
	}
	if branch != nil {
		c.check(branch, v)
	}
}

// alternatives holds that a value has at least one, and at most so many, of
// several shapes. Alternatives that each lack a key are one problem: one of the
// keys is missing.
func (c *checker) alternatives(shapes []*Schema, v any, most int) {
	fits := 0
	var missing, texts []string
	for _, shape := range shapes {
		found := Sort(c.apart(shape, v))
		if len(found) == 0 {
			fits++
			continue
		}
		if len(found) == 1 && len(shape.required) == 1 && found[0].Text == "is missing" {
			missing = append(missing, shape.required[0])
		}
		for _, p := range found {
			texts = append(texts, strings.TrimSpace(strings.TrimPrefix(p.Pointer, PointerTo(c.way))+" "+p.Text))
		}
	}
	slices.Sort(texts)
	switch {
	case fits > most:
		c.add("fits more than one of the shapes that exclude each other")
	case fits > 0:
	case len(missing) == len(shapes):
		c.addKey(missing[0], "is missing%s", orElse(missing[1:]))
	default:
		c.add("fits none of the shapes: %s", strings.Join(slices.Compact(texts), "; "))
	}
}

func orElse(others []string) string {
	if len(others) == 0 {
		return ""
	}
	return "; " + strings.Join(others, " or ") + " would serve"
}
