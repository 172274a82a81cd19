package jsonschema

import "slices"

// Unnamed returns the keys of a value that the schema does not name, where it
// names any, and those that it calls deprecated, at most maxProblems of them.
// They break nothing.
func (s *Schema) Unnamed(v any) []Problem {
	n := &names{together: map[*Schema][]*Schema{}, keys: map[schemaKey]keySchemas{}}
	n.unknown([]*Schema{s}, v)
	return Sort(n.found)
}

// names finds keys. It remembers which other schemas a schema leads to.
type names struct {
	together map[*Schema][]*Schema
	keys     map[schemaKey]keySchemas
	found    []Problem
	way      []Step // to the value that is looked at
}

type (
	schemaKey struct {
		of  *Schema
		key string
	}
	keySchemas struct {
		below []*Schema
		text  string // what is to be said of the key
	}
)

// key returns what schemas, those that one leads to or others, say of a key.
func (n *names) key(of *Schema, schemas []*Schema, key string) (below []*Schema, text string) {
	if known, ok := n.keys[schemaKey{of, key}]; ok && of != nil {
		return known.below, known.text
	}
	below, named, open := property(schemas, key)
	switch {
	case !named && !open:
		text = "is no part of the contract"
	case slices.ContainsFunc(below, func(s *Schema) bool { return s.deprecated }):
		text = "is deprecated: " + below[0].description
	}
	if of != nil && named { // others may be many
		n.keys[schemaKey{of, key}] = keySchemas{below, text}
	}
	return below, text
}

func (n *names) add(key, text string) {
	if len(n.found) < maxProblems {
		n.found = append(n.found, Problem{PointerTo(append(slices.Clip(n.way), Step{key, -1})), text})
	}
}

// below looks at what lies a step further.
func (n *names) below(schemas []*Schema, value any, to Step) {
	n.way = append(n.way, to)
	n.unknown(schemas, value)
	n.way = n.way[:len(n.way)-1]
}

func (n *names) unknown(schemas []*Schema, value any) {
	if len(schemas) == 0 || len(n.found) == maxProblems {
		return
	}
	of := schemas[0]
	if len(schemas) > 1 {
		of = nil // what is said of its keys is not remembered
	}
	schemas = n.all(schemas)
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			below, text := n.key(of, schemas, key)
			if text != "" {
				n.add(key, text)
			}
			if container(child) {
				n.below(below, child, Step{key, -1})
			}
		}
	case []any:
		var below []*Schema
		longest := longestPrefix(schemas)
		for i, child := range value {
			if i <= longest {
				below = itemsOf(schemas, i)
			}
			if container(child) {
				n.below(below, child, Step{Index: i})
			}
		}
	}
}

func container(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// all returns the schemas with those that a value of theirs may have to fit as
// well.
func (n *names) all(schemas []*Schema) []*Schema {
	if len(schemas) != 1 {
		return together(schemas, nil)
	}
	if _, ok := n.together[schemas[0]]; !ok {
		n.together[schemas[0]] = together(schemas, nil)
	}
	return n.together[schemas[0]]
}

func together(schemas, seen []*Schema) []*Schema {
	for _, s := range schemas {
		if s == nil || slices.Contains(seen, s) {
			continue
		}
		seen = append(seen, s)
		seen = together([]*Schema{s.ref, s.then, s.els}, seen)
		seen = together(s.allOf, seen)
		seen = together(s.anyOf, seen)
		seen = together(s.oneOf, seen)
		for _, key := range sortedKeys(s.dependentSchemas) {
			seen = together([]*Schema{s.dependentSchemas[key]}, seen)
		}
	}
	return seen
}

// property returns what schemas say of a key, whether one names it, and whether
// they say nothing of keys at all or allow any.
func property(schemas []*Schema, key string) (below []*Schema, named, open bool) {
	open = true
	for _, s := range schemas {
		if child, ok := s.properties[key]; ok {
			below, named = append(below, child), true
		}
		for _, p := range s.patterns {
			if p.pattern.MatchString(key) {
				below, named = append(below, p.schema), true
			}
		}
		open = open && len(s.properties) == 0
	}
	if named {
		return below, true, open
	}
	for _, s := range schemas {
		if s.additional != nil { // false is an error already
			below, open = append(below, s.additional), true
		}
	}
	return below, false, open
}

func longestPrefix(schemas []*Schema) int {
	longest := 0
	for _, s := range schemas {
		longest = max(longest, len(s.prefix))
	}
	return longest
}

func itemsOf(schemas []*Schema, i int) []*Schema {
	var below []*Schema
	for _, s := range schemas {
		switch {
		case i < len(s.prefix):
			below = append(below, s.prefix[i])
		case s.items != nil:
			below = append(below, s.items)
		}
	}
	return below
}
