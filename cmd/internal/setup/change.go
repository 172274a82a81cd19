package setup

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

// A Change is one entry of handoff in a file that belongs to an agent program.
// Exactly one of its forms is used. The journal stores it, so that it can be taken
// back.
type Change struct {
	// Member sets a member of a JSON object, Element appends to a JSON list.
	Member  []string `json:"member,omitempty"`
	Element []string `json:"element,omitempty"`
	Value   any      `json:"value,omitempty"`

	// Table appends a table to a TOML file.
	Table string `json:"table,omitempty"` // its name
	Text  string `json:"text,omitempty"`  // its lines, with the head

	// Optional leaves a table alone that the file has already.
	Optional bool `json:"optional,omitempty"`

	// File is the content of a file that is handoff's own.
	File string `json:"file,omitempty"`
}

// apply returns a file with the change.
func (c Change) apply(data []byte) ([]byte, error) {
	switch {
	case c.File != "":
		return []byte(c.File), nil
	case c.Table != "":
		return c.appendTable(data)
	}
	d, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	var changed bool
	if len(c.Element) > 0 {
		changed, err = d.add(c.Element, c.Value)
	} else {
		last := len(c.Member) - 1
		changed, err = d.set(c.Member[:last], c.Member[last], c.Value)
	}
	if err != nil || !changed {
		return data, err
	}
	return d.bytes(), nil
}

// remove returns a file without the change, and whether it had it.
func (c Change) remove(data []byte) ([]byte, bool, error) {
	switch {
	case c.File != "":
		return data, false, nil // the caller removes the file, if it is unchanged
	case c.Table != "":
		text := c.table(data)
		before, after, found := bytes.Cut(data, text)
		return append(bytes.Clone(before), after...), found, nil
	}
	d, err := parseDocument(data)
	if err != nil {
		return nil, false, err
	}
	var removed bool
	if len(c.Element) > 0 {
		removed = d.removeElement(c.Element, c.Value)
	} else {
		last := len(c.Member) - 1
		removed = d.remove(c.Member[:last], c.Member[last])
	}
	if !removed {
		return data, false, nil
	}
	return d.bytes(), true, nil
}

// table returns the text of the table with the line ends of a file.
func (c Change) table(data []byte) []byte {
	if bytes.Contains(data, []byte("\r\n")) {
		return []byte(strings.ReplaceAll(c.Text, "\n", "\r\n"))
	}
	return []byte(c.Text)
}

// appendTable appends the table to a TOML file that does not have it.
func (c Change) appendTable(data []byte) ([]byte, error) {
	text := c.table(data)
	if bytes.Contains(data, text) {
		return data, nil
	}
	head := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*` + regexp.QuoteMeta(c.Table) + `[ \t]*(\.[^\]]*)?\]`)
	switch {
	case !head.Match(data):
	case c.Optional:
		return data, nil
	default:
		return nil, errors.New("has a table " + c.Table + " of its own")
	}
	out := bytes.Clone(data)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	return append(out, text...), nil
}
