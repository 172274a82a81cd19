package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// draft is the only edition that is known.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Compile returns the schema of a document, which lies at a URL. References to
// other documents are resolved from there and read with load, which is called
// once for each. An error says where in which document what is wrong.
func Compile(at string, doc any, load func(url string) (any, error)) (*Schema, error) {
	c := &compiler{load: load, docs: map[string]document{}, done: map[string]*Schema{}}
	root, err := c.add(at, doc)
	if err != nil {
		return nil, err
	}
	s, err := c.schema(place{doc: root.base}, doc)
	if err != nil {
		return nil, err
	}
	return s, c.turns()
}

// A compiler keeps what is compiled, so that schemas may refer to each other.
type compiler struct {
	load  func(url string) (any, error)
	docs  map[string]document // by URL
	done  map[string]*Schema  // by place
	order []*Schema
}

// A document is known under its URL and under its own $id, which is then the
// base of its references.
type document struct {
	value any
	base  *url.URL
}

// A place is that of a schema: a document's URL, and the path in it.
type place struct {
	doc  *url.URL
	path []string
}

func (p place) below(steps ...string) place {
	return place{p.doc, append(slices.Clone(p.path), steps...)}
}

func (p place) String() string { return p.doc.String() + "#" + Pointer(p.path...) }

func (p place) refuse(format string, args ...any) error {
	return fmt.Errorf("schema %s: %w", p, fmt.Errorf(format, args...))
}

// add makes a document known.
func (c *compiler) add(at string, value any) (document, error) {
	base, err := url.Parse(at)
	if err != nil {
		return document{}, err
	}
	d := document{value, base}
	object, _ := value.(map[string]any)
	if id, ok := object["$id"].(string); ok {
		if d.base, err = base.Parse(id); err != nil || d.base.Fragment != "" {
			return d, place{doc: base}.refuse("$id is no URL without a fragment")
		}
	}
	c.docs[at], c.docs[d.base.String()] = d, d
	return d, nil
}

// schema compiles what stands at a place, once.
func (c *compiler) schema(p place, doc any) (*Schema, error) {
	if s, ok := c.done[p.String()]; ok {
		return s, nil
	}
	s := &Schema{at: p.String(), minLength: unbounded, maxLength: unbounded, minItems: unbounded, maxItems: unbounded,
		minKeys: unbounded, maxKeys: unbounded, minContains: unbounded, maxHolds: unbounded}
	c.done[p.String()] = s
	c.order = append(c.order, s)
	if anything, ok := doc.(bool); ok {
		s.never = !anything
		return s, nil
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, p.refuse("is %s, where a schema is an object, true or false", article(typeOf(doc)))
	}
	for _, key := range sortedKeys(object) {
		set, known := keywords[key]
		if !known && strings.HasPrefix(key, "x-") {
			continue
		}
		if !known {
			return nil, p.refuse("the keyword %q is not known here", key)
		}
		if set == nil {
			continue // it says nothing about values
		}
		if err := set(site{c, s, p.below(key)}, object[key]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// follow compiles what a reference leads to.
func (c *compiler) follow(from place, ref string) (*Schema, error) {
	to, err := from.doc.Parse(ref)
	if err != nil {
		return nil, from.refuse("%w", err)
	}
	fragment := to.Fragment
	to.Fragment, to.RawFragment = "", ""
	d, known := c.docs[to.String()]
	if !known {
		value, err := c.load(to.String())
		if err != nil {
			return nil, from.refuse("%w", err)
		}
		if d, err = c.add(to.String(), value); err != nil {
			return nil, err
		}
	}
	at, doc := place{doc: d.base}, d.value
	if fragment == "" {
		return c.schema(at, doc)
	}
	steps := strings.Split(fragment, "/")
	if steps[0] != "" {
		return nil, from.refuse("%s names an anchor; write a pointer such as #/$defs/name", ref)
	}
	for _, step := range steps[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if doc, err = child(doc, step); err != nil {
			return nil, from.refuse("%s leads nowhere", ref)
		}
		at = at.below(step)
	}
	return c.schema(at, doc)
}

var errNowhere = errors.New("there is nothing")

func child(v any, step string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if below, ok := v[step]; ok {
			return below, nil
		}
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i], nil
		}
	}
	return nil, errNowhere
}

// turns refuses schemas that lead back to themselves without a step into the
// value: a check of one would never end.
func (c *compiler) turns() error {
	const open, closed = 1, 2
	state := map[*Schema]int{}
	var visit func(*Schema) error
	visit = func(s *Schema) error {
		switch state[s] {
		case open:
			return fmt.Errorf("schema %s: leads back to itself", s.at)
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
