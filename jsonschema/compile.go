package jsonschema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// draft is the only supported version.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Compile compiles the document at a URL. References to other documents are
// resolved relative to it and read with load, which is called once for each. An
// error names the document and the pointer.
func Compile(at string, doc any, load func(url string) (any, error)) (*Schema, error) {
	c := &compiler{load: load, docs: map[string]document{}, done: map[string]*Schema{}}
	root, err := c.add(at, doc)
	if err != nil {
		return nil, err
	}
	s, err := c.schema(location{doc: root.base}, doc)
	if err != nil {
		return nil, err
	}
	return s, c.checkCycles()
}

// A compiler keeps the compiled schemas, so that schemas can refer to each
// other.
type compiler struct {
	load  func(url string) (any, error)
	docs  map[string]document // by URL
	done  map[string]*Schema  // by location
	order []*Schema
}

// A document is registered under its URL and its own $id, which is then the base
// of its references.
type document struct {
	value any
	base  *url.URL
}

// A location is the location of a schema: a document's URL and the path in it.
type location struct {
	doc  *url.URL
	path []string
}

func (l location) child(steps ...string) location {
	return location{l.doc, append(slices.Clone(l.path), steps...)}
}

func (l location) String() string { return l.doc.String() + "#" + Pointer(l.path...) }

func (l location) errorf(format string, args ...any) error {
	return fmt.Errorf("schema %s: %w", l, fmt.Errorf(format, args...))
}

// add registers a document.
func (c *compiler) add(at string, value any) (document, error) {
	base, err := url.Parse(at)
	if err != nil {
		return document{}, err
	}
	d := document{value, base}
	object, _ := value.(map[string]any)
	if id, ok := object["$id"].(string); ok {
		if d.base, err = base.Parse(id); err != nil || d.base.Fragment != "" {
			return d, location{doc: base}.errorf("$id must be a URL without a fragment")
		}
	}
	c.docs[at], c.docs[d.base.String()] = d, d
	return d, nil
}

// schema compiles the schema at a location, once.
func (c *compiler) schema(p location, doc any) (*Schema, error) {
	if s, ok := c.done[p.String()]; ok {
		return s, nil
	}
	s := &Schema{at: p.String(), minLength: unbounded, maxLength: unbounded, minItems: unbounded, maxItems: unbounded,
		minKeys: unbounded, maxKeys: unbounded, minContains: unbounded, maxContains: unbounded}
	c.done[p.String()] = s
	c.order = append(c.order, s)
	if anything, ok := doc.(bool); ok {
		s.never = !anything
		return s, nil
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, p.errorf("is %s; a schema must be an object, true or false", article(typeOf(doc)))
	}
	for _, key := range sortedKeys(object) {
		set, known := keywords[key]
		if !known && strings.HasPrefix(key, "x-") {
			continue
		}
		if !known {
			return nil, p.errorf("unsupported keyword %q", key)
		}
		if set == nil {
			continue // an annotation
		}
		if err := set(site{c, s, p.child(key)}, object[key]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// resolve compiles the target of a reference.
func (c *compiler) resolve(from location, ref string) (*Schema, error) {
	to, err := from.doc.Parse(ref)
	if err != nil {
		return nil, from.errorf("%w", err)
	}
	fragment := to.Fragment
	to.Fragment, to.RawFragment = "", ""
	d, known := c.docs[to.String()]
	if !known {
		value, err := c.load(to.String())
		if err != nil {
			return nil, from.errorf("%w", err)
		}
		if d, err = c.add(to.String(), value); err != nil {
			return nil, err
		}
	}
	at, doc := location{doc: d.base}, d.value
	if fragment == "" {
		return c.schema(at, doc)
	}
	steps := strings.Split(fragment, "/")
	if steps[0] != "" {
		return nil, from.errorf("%s is an anchor; use a JSON pointer such as #/$defs/name", ref)
	}
	for _, step := range steps[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var ok bool
		if doc, ok = child(doc, step); !ok {
			return nil, from.errorf("%s does not exist", ref)
		}
		at = at.child(step)
	}
	return c.schema(at, doc)
}

func child(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[step]
		return c, ok
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// checkCycles rejects schemas that apply themselves to the same value: a check
// would not terminate.
func (c *compiler) checkCycles() error {
	const open, closed = 1, 2
	state := map[*Schema]int{}
	var visit func(*Schema) error
	visit = func(s *Schema) error {
		switch state[s] {
		case open:
			return fmt.Errorf("schema %s: refers to itself", s.at)
		case closed:
			return nil
		}
		state[s] = open
		for _, part := range s.parts() {
			if err := visit(part); err != nil {
				return err
			}
		}
		state[s] = closed
		return nil
	}
	for _, s := range c.order {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}
