package contract

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
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

func (m Mistake) Error() string {
	if m.Line == 0 {
		return m.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Text)
}

// Mistakes are all mistakes in the definitions that were read together. As an error they
// read like the first of them.
type Mistakes []Mistake

func (m Mistakes) Error() string { return m[0].Error() }

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
			e.Details = append(e.Details, one.Error())
		}
	}
	return e
}

// wrong returns the mistake at a node.
func wrong(n *yaml.Node, hint, format string, args ...any) Mistake {
	return Mistake{Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...), Hint: hint}
}

func (l *loader) wrong(n *yaml.Node, hint, format string, args ...any) {
	m := wrong(n, hint, format, args...)
	m.File = l.file
	l.mistakes = append(l.mistakes, m)
}

// document returns the root of a YAML document, nil if it is empty or is none. An empty one is a
// mistake, too.
func (l *loader) document(b []byte) *yaml.Node {
	var doc yaml.Node
	if len(b) > MaxFile {
		l.wrong(&doc, "split it into several pipelines", "has %d bytes, more than %d", len(b), MaxFile)
		return nil
	}
	err := yaml.Load(b, &doc)
	switch empty := err != nil && strings.Contains(err.Error(), "no documents"); {
	case empty, err == nil && (len(doc.Content) == 0 || doc.Content[0].Tag == "!!null"):
		l.wrong(&yaml.Node{Line: 1, Column: 1}, "write a list of stages", "has no stages")
	case err != nil:
		l.add(err)
	default:
		l.root = doc.Content[0]
		l.refuseVariables(&doc)
	}
	if len(l.mistakes) > 0 {
		return nil
	}
	return l.root
}

// refuseVariables refuses what makes a definition more than a tree: anchors, aliases, merges,
// values that are left out and tags of programs.
func (l *loader) refuseVariables(n *yaml.Node) {
	const hint = "write the value out; a definition has no variables"
	switch {
	case n.Kind == yaml.AliasNode:
		l.wrong(n, hint, "an alias is not supported: *%s", n.Value)
		return
	case n.Anchor != "":
		l.wrong(n, hint, "an anchor is not supported: &%s", n.Anchor)
	case n.Tag == "!!null" && n.Value == "":
		l.wrong(n, "write a value, or leave the key out", "a value is empty")
	case n.Tag == "!!merge":
		l.wrong(n, hint, "unknown key %q", n.Value)
	case n.Tag != "" && n.Kind == yaml.ScalarNode && !slices.Contains(plainTags, n.Tag):
		l.wrong(n, "leave the tag out", "the tag %s is not supported", strings.TrimPrefix(n.Tag, "!!"))
	}
	for key := range pairs(n) {
		if key.Tag == "!!null" && key.Value != "" {
			l.wrong(key, hint, "unknown key %q", key.Value)
		}
	}
	for _, child := range n.Content {
		l.refuseVariables(child)
	}
}

// plainTags are the tags that a scalar has without one.
var plainTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}

// strictly decodes a node, whose keys must all be known.
func strictly(n *yaml.Node, into any) error { return n.Load(into, yaml.WithKnownFields()) }

// load decodes a node and reports whether there were no mistakes.
func (l *loader) load(n *yaml.Node, into any) bool {
	if n.IsZero() {
		return true
	}
	err := strictly(n, into)
	if err != nil {
		l.add(err)
	}
	return err == nil
}

// add adds the mistakes that yaml found, and those of the types of a definition.
func (l *loader) add(err error) {
	list := []*yaml.LoadError{}
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &all) {
		list = all.Errors
	} else if errors.As(err, &one) {
		list = append(list, one)
	}
	for _, e := range list {
		var own Mistake
		if !errors.As(e.Unwrap(), &own) {
			own = mistakeOf(e)
		}
		if key := keyOf(l.root, own.Line, own.Column); key != "" && strings.HasPrefix(own.Text, "must ") {
			own.Text = key + " " + own.Text
		}
		own.File = l.file
		l.mistakes = append(l.mistakes, own)
	}
	if len(list) == 0 {
		l.wrong(&yaml.Node{Line: 1, Column: 1}, "correct the syntax; one file has one document",
			"invalid YAML: expected one document")
	}
}

// parts are the types of a definition that have keys, with what they are called.
var parts = map[string]struct {
	noun string
	keys any
}{
	"definitions": {"a definition", definitions{}},
	"definition":  {"a pipeline", definition{}},
	"Stage":       {"a stage", Stage{}},
	"format":      {"format", Format{}},
	"Gate":        {"gate", Gate{}},
	"command":     {"a command", Command{}},
	"route":       {"a route", Route{}},
}

// keysOf returns the keys of a struct, sorted.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		switch key := t.Field(i).Tag.Get("yaml"); key {
		case ",inline":
			keys = append(keys, keysOf(t.Field(i).Type)...)
		case "-", "":
		default:
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// mistakeOf returns an error of yaml in the terms of a definition.
func mistakeOf(e *yaml.LoadError) Mistake {
	m := Mistake{Line: max(e.Mark.Line, 1), Column: max(e.Mark.Column, 1),
		Text: "invalid YAML: " + strings.TrimPrefix(e.Message, "yaml: "),
		Hint: "correct the syntax; one file has one document"}
	if key, name, ok := strings.Cut(strings.TrimPrefix(e.Message, "field "), " not found in type contract."); ok {
		part := parts[name]
		keys := keysOf(reflect.TypeOf(part.keys))
		m.Text = fmt.Sprintf("unknown key %q in %s", key, part.noun)
		m.Hint = "the keys of " + part.noun + " are " + strings.Join(keys, ", ")
		if similar := nearest.Of(key, keys, 1); len(similar) > 0 {
			m.Hint = "use " + similar[0] + "; " + m.Hint
		}
	} else if key, _, ok := strings.Cut(e.Message, " already defined"); ok {
		m.Text, m.Hint = "duplicate key "+strings.TrimPrefix(key, "mapping key "), "leave one of them out"
	} else if found, ok := strings.CutPrefix(e.Message, "cannot construct !!"); ok {
		at := strings.LastIndex(found, " into ")
		kind, value, _ := strings.Cut(found[:at], " ")
		want := kindOf(found[at+len(" into "):])
		m.Text = "must be " + want + ", not " + strings.ReplaceAll(cmp.Or(value, kindOf(kind)), "`", `"`)
		m.Hint = "write " + want + map[string]string{"a list": ": [a, b]", "a mapping": ": {key: value}"}[want]
	}
	return m
}

// kindOf describes a type of YAML or of Go.
func kindOf(name string) string {
	switch {
	case name == "seq", strings.HasPrefix(name, "[]"), strings.HasSuffix(name, "Routes"):
		return "a list"
	case name == "string", name == "contract.Check", name == "contract.Requirement":
		return "a text"
	case name == "bool":
		return "true or false"
	case name == "int":
		return "a number"
	}
	return "a mapping"
}

// keyOf returns the key of the value at a place, "" if it has none.
func keyOf(n *yaml.Node, line, column int) string {
	for key, value := range pairs(n) {
		if value.Line == line && value.Column == column {
			return key.Value
		}
	}
	for i := 0; n != nil && i < len(n.Content); i++ {
		if key := keyOf(n.Content[i], line, column); key != "" {
			return key
		}
	}
	return ""
}

// pairs returns the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// valueOf returns the value of a key of a mapping, otherwise the mapping.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for k, v := range pairs(n) {
		if k.Value == key {
			return v
		}
	}
	return n
}
