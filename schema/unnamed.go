package schema

import "slices"

// Unnamed returns the keys of a value that the schema does not name, where it
// names any, and those that it calls deprecated, at most maxProblems of them.
// They break nothing.
func (s *Schema) Unnamed(v any) []Problem {
	n := &names{together: map[*Schema][]*Schema{}}
	n.unknown([]*Schema{s}, v, nil)
	return Sort(n.found)
}

// names finds keys. It remembers which other schemas a schema leads to.
type names struct {
	together map[*Schema][]*Schema
	found    []Problem
}

func (n *names) add(at *trail, key, text string) {
	if len(n.found) < maxProblems {
		n.found = append(n.found, Problem{(&trail{at, key, -1}).pointer(), text})
	}
}

func (n *names) unknown(schemas []*Schema, value any, at *trail) {
	if len(schemas) == 0 || len(n.found) == maxProblems {
		return
	}
	schemas = n.all(schemas)
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			below, named, open := property(schemas, key)
			switch {
			case !named && !open:
				n.add(at, key, "is no part of the contract")
			case slices.ContainsFunc(below, func(s *Schema) bool { return s.deprecated }):
				n.add(at, key, "is deprecated: "+below[0].description)
			}
			if container(child) {
				n.unknown(below, child, &trail{at, key, -1})
			}
		}
	case []any:
		for i, child := range value {
			if container(child) {
				n.unknown(itemsOf(schemas, i), child, &trail{at, "", i})
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
