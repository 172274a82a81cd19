package jsonschema

import "slices"

// UnknownKeys returns the keys of a value that the schema does not define,
// in objects for which it defines any, and the deprecated ones, at most
// maxProblems of them. They do not make the value invalid.
func (s *Schema) UnknownKeys(v any) []Problem {
	f := &keyFinder{together: map[*Schema][]*Schema{}, keys: map[schemaKey]keySchemas{}}
	f.visit([]*Schema{s}, v)
	return Sort(f.found)
}

// A keyFinder finds unknown keys. It caches the schemas that apply together.
type keyFinder struct {
	together map[*Schema][]*Schema
	keys     map[schemaKey]keySchemas
	found    []Problem
	path     []Step // to the current value
}

type (
	schemaKey struct {
		of  *Schema
		key string
	}
	keySchemas struct {
		schemas []*Schema
		text    string // the warning about the key, "" if there is none
	}
)

// key returns the schemas of a key and the warning about it. The schemas are
// those that apply together with of; nil disables the cache.
func (f *keyFinder) key(of *Schema, schemas []*Schema, key string) (children []*Schema, text string) {
	if known, ok := f.keys[schemaKey{of, key}]; ok && of != nil {
		return known.schemas, known.text
	}
	children, named, open := property(schemas, key)
	switch {
	case !named && !open:
		text = "is an unknown key"
	case slices.ContainsFunc(children, func(s *Schema) bool { return s.deprecated }):
		text = "is deprecated: " + children[0].description
	}
	if of != nil && named { // the number of unknown keys is unlimited
		f.keys[schemaKey{of, key}] = keySchemas{children, text}
	}
	return children, text
}

func (f *keyFinder) add(key, text string) {
	if len(f.found) < maxProblems {
		f.found = append(f.found, Problem{PointerTo(append(slices.Clip(f.path), Step{key, -1})), text})
	}
}

func (f *keyFinder) visitChild(schemas []*Schema, value any, to Step) {
	f.path = append(f.path, to)
	f.visit(schemas, value)
	f.path = f.path[:len(f.path)-1]
}

func (f *keyFinder) visit(schemas []*Schema, value any) {
	if len(schemas) == 0 || len(f.found) == maxProblems {
		return
	}
	of := schemas[0]
	if len(schemas) > 1 {
		of = nil
	}
	schemas = f.all(schemas)
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			children, text := f.key(of, schemas, key)
			if text != "" {
				f.add(key, text)
			}
			if isContainer(child) {
				f.visitChild(children, child, Step{key, -1})
			}
		}
	case []any:
		var children []*Schema
		longest := longestPrefix(schemas)
		for i, child := range value {
			if i <= longest {
				children = itemsOf(schemas, i)
			}
			if isContainer(child) {
				f.visitChild(children, child, Step{Index: i})
			}
		}
	}
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// all returns the schemas and all others that apply to the same value.
func (f *keyFinder) all(schemas []*Schema) []*Schema {
	if len(schemas) != 1 {
		return together(schemas, nil)
	}
	if _, ok := f.together[schemas[0]]; !ok {
		f.together[schemas[0]] = together(schemas, nil)
	}
	return f.together[schemas[0]]
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

// property returns the schemas of a key, whether one of schemas defines it, and
// whether they define no keys at all or allow any.
func property(schemas []*Schema, key string) (children []*Schema, named, open bool) {
	open = true
	for _, s := range schemas {
		if child, ok := s.properties[key]; ok {
			children, named = append(children, child), true
		}
		for _, p := range s.patterns {
			if p.pattern.MatchString(key) {
				children, named = append(children, p.schema), true
			}
		}
		open = open && len(s.properties) == 0
	}
	if named {
		return children, true, open
	}
	for _, s := range schemas {
		if s.additional != nil { // Check reports an error if it is false
			children, open = append(children, s.additional), true
		}
	}
	return children, false, open
}

func longestPrefix(schemas []*Schema) int {
	longest := 0
	for _, s := range schemas {
		longest = max(longest, len(s.prefix))
	}
	return longest
}

func itemsOf(schemas []*Schema, i int) []*Schema {
	var items []*Schema
	for _, s := range schemas {
		switch {
		case i < len(s.prefix):
			items = append(items, s.prefix[i])
		case s.items != nil:
			items = append(items, s.items)
		}
	}
	return items
}
