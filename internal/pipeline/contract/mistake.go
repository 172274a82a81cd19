package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/nearest"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"go.yaml.in/yaml/v4"
)

// A Mistake is what is wrong in a definition, where, and what to write in its place.
type Mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line"` // from 1, 0 for the file as such
	Column int    `json:"column"`
	Text   string `json:"text"`
	Hint   string `json:"hint"`
}

func (m Mistake) String() string {
	if m.Line == 0 {
		return m.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Text)
}

// Mistakes are all mistakes in the definitions that were read together. As an error they
// read like the first of them.
type Mistakes []Mistake

func (m Mistakes) Error() string { return m[0].String() }

// err returns the error for mistakes, nil if there are none.
func (m Mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	order.Sort(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	e := handoff.E("read pipeline", m[0].File, handoff.Invalid, m, handoff.Advice(m[0].Hint))
	if len(m) > 1 {
		for _, one := range m {
			e.Details = append(e.Details, one.String())
		}
	}
	return e
}

// A place is where a definition says something.
type place struct {
	file         string
	line, column int
}

// wrong returns the mistake at a place.
func (p place) wrong(hint, format string, args ...any) Mistake {
	return Mistake{File: p.file, Line: p.line, Column: p.column, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// A reader reads a definition and collects the mistakes in it.
type reader struct {
	file     string
	mistakes Mistakes
}

func (r *reader) place(n *yaml.Node) place { return place{r.file, n.Line, n.Column} }

func (r *reader) wrong(n *yaml.Node, hint, format string, args ...any) {
	r.mistakes = append(r.mistakes, r.place(n).wrong(hint, format, args...))
}

// document returns the root of a YAML document, nil if it is empty or is none.
func (r *reader) document(b []byte) *yaml.Node {
	var doc yaml.Node
	if len(b) > MaxFile {
		r.wrong(&doc, "split it into several pipelines", "has %d bytes, more than %d", len(b), MaxFile)
		return nil
	}
	if err := yaml.Load(b, &doc); err != nil && strings.Contains(err.Error(), "no documents") {
		return nil
	} else if err != nil {
		r.mistakes = append(r.mistakes, syntaxMistake(r.file, err))
		return nil
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil
	}
	if r.refuseAliases(&doc); len(r.mistakes) > 0 {
		return nil
	}
	return doc.Content[0]
}

// syntaxMistake returns the mistake for a text that is not one YAML document.
func syntaxMistake(file string, err error) Mistake {
	m := Mistake{File: file, Line: 1, Column: 1, Text: "invalid YAML: expected one document",
		Hint: "correct the syntax; one file has one document"}
	if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
		m.Line, m.Column = max(e.Mark.Line, 1), max(e.Mark.Column, 1)
		m.Text = "invalid YAML: " + strings.TrimPrefix(e.Message, "yaml: ")
	}
	return m
}

// refuseAliases refuses what makes a definition more than a tree: anchors, aliases and
// tags of programs.
func (r *reader) refuseAliases(n *yaml.Node) {
	const hint = "write the value out; a definition has no variables"
	switch {
	case n.Kind == yaml.AliasNode:
		r.wrong(n, hint, "an alias is not supported: *%s", n.Value)
		return
	case n.Anchor != "":
		r.wrong(n, hint, "an anchor is not supported: &%s", n.Anchor)
	case n.Tag != "" && n.Kind == yaml.ScalarNode && !slices.Contains(plainTags, n.Tag):
		r.wrong(n, "leave the tag out", "the tag %s is not supported", strings.TrimPrefix(n.Tag, "!!"))
	}
	for _, child := range n.Content {
		r.refuseAliases(child)
	}
}

// plainTags are the tags that a scalar has without one.
var plainTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"}

// keys are the keys of a mapping, each with what reads its value.
type keys map[string]func(*yaml.Node)

// mapping reads a mapping that has some of the keys, each at most once.
func (r *reader) mapping(n *yaml.Node, what string, known keys) {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	list := "the keys of " + what + " are " + strings.Join(names, ", ")
	if n.Kind != yaml.MappingNode {
		r.wrong(n, list, "%s must be a mapping, not %s", what, kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case seen[key.Value]:
			r.wrong(key, "leave one of them out", "duplicate key %q", key.Value)
		case read == nil:
			hint := list
			if similar := nearest.Of(key.Value, names, 1); len(similar) > 0 {
				hint = "use " + similar[0] + "; " + list
			}
			r.wrong(key, hint, "unknown key %q in %s", key.Value, what)
		default:
			read(value)
		}
		seen[key.Value] = true
	}
}

// text reads a string.
func (r *reader) text(n *yaml.Node, what string) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		r.wrong(n, "write one word or text", "%s must be a text, not %s", what, kindOf(n))
	case n.Value == "":
		r.wrong(n, "write one word or text, or leave the key out", "%s is empty", what)
	}
	return n.Value
}

// list reads a list, which may be empty.
func (r *reader) list(n *yaml.Node, what string, each func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "write a list: [a, b]", "%s must be a list, not %s", what, kindOf(n))
		return
	}
	for _, item := range n.Content {
		each(item)
	}
}

// texts reads a list of strings without repetitions.
func (r *reader) texts(n *yaml.Node, what string) []string {
	words := []string{}
	r.list(n, what, func(item *yaml.Node) {
		word := r.text(item, what)
		if slices.Contains(words, word) {
			r.wrong(item, "leave one of them out", "%s has %q twice", what, word)
		}
		words = append(words, word)
	})
	return words
}

// flag reads a boolean.
func (r *reader) flag(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.wrong(n, "use true or false", "%s must be true or false, not %s", what, kindOf(n))
	}
	var v bool
	_ = n.Decode(&v) // of another type: it was reported
	return v
}

// value reads a value of any type, as one from JSON.
func (r *reader) value(n *yaml.Node, what string) any {
	var v any
	err := n.Decode(&v)
	if err == nil {
		v, err = asJSON(v)
	}
	if err != nil {
		r.wrong(n, "use strings as keys, and no key twice", "%s: %v", what, err)
	}
	return v
}

// kindOf describes the type of a value.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}
