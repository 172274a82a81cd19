package threadtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A span is a part of a file.
type span struct{ start, end int }

// A renaming gives a type or a member of JSON another name, wherever a file has it.
type renaming struct {
	what  string // its path and name
	spans []span // of its name, in quotes
}

// apply returns a copy of a file with the renaming.
func (r renaming) apply(content []byte) []byte {
	var b bytes.Buffer
	at := 0
	for _, s := range r.spans {
		b.Write(content[at:s.start])
		b.WriteString(renamed(string(content[s.start:s.end])))
		at = s.end
	}
	b.Write(content[at:])
	return b.Bytes()
}

// renamed returns another name for a name in quotes.
func renamed(quoted string) string { return quoted[:1] + "renamed_" + quoted[1:] }

// renamings returns those of all record types and of all members with usage in a file of
// JSON documents, or of lines that are JSON.
func renamings(content []byte) []renaming {
	c := newRenames()
	if !c.documents(content, 0) {
		c = newRenames()
		at := 0
		for line := range bytes.Lines(content) {
			c.documents(line, at)
			at += len(line)
		}
	}
	var list []renaming
	for _, what := range slices.Sorted(maps.Keys(c.spans)) {
		spans := slices.SortedFunc(maps.Keys(c.spans[what]), func(a, b span) int { return a.start - b.start })
		list = append(list, renaming{what, spans})
	}
	return list
}

// renames collects the renamings of JSON documents.
type renames struct {
	decoder *json.Decoder
	content []byte
	offset  int // of content in its file
	keys    []key
	spans   map[string]map[span]bool
}

// A key is the name of a member that the decoder is in.
type key struct {
	name string
	span span
}

func newRenames() *renames { return &renames{spans: map[string]map[span]bool{}} }

// documents reads JSON documents, and reports whether all of them are valid.
func (c *renames) documents(content []byte, offset int) bool {
	c.decoder, c.content = json.NewDecoder(bytes.NewReader(content)), content
	c.offset, c.keys = offset, nil
	c.decoder.UseNumber()
	for c.decoder.More() {
		if err := c.value(); err != nil {
			return false
		}
	}
	return true
}

// value reads one value.
func (c *renames) value() error {
	token, err := c.decoder.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return c.composite(v)
	case json.Number:
		c.number()
	case string:
		c.text(v)
	}
	return nil
}

// composite reads the rest of an object or an array.
func (c *renames) composite(open json.Delim) error {
	for c.decoder.More() {
		if open == '{' {
			token, err := c.decoder.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			c.keys = append(c.keys, key{name, c.quoted(name)})
		}
		if err := c.value(); err != nil {
			return err
		}
		if open == '{' {
			c.keys = c.keys[:len(c.keys)-1]
		}
	}
	_, err := c.decoder.Token()
	return err
}

// quoted returns where the string is that was read last; an empty span if it is not
// written as it is.
func (c *renames) quoted(s string) span {
	end := int(c.decoder.InputOffset())
	start := end - len(s) - 2
	if start < 0 || string(c.content[start:end]) != strconv.Quote(s) {
		return span{}
	}
	return span{c.offset + start, c.offset + end}
}

func (c *renames) add(what string, s span) {
	if s == (span{}) {
		return
	}
	if c.spans[what] == nil {
		c.spans[what] = map[span]bool{}
	}
	c.spans[what][s] = true
}

func (c *renames) path(keys []key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return strings.Join(names, ".")
}

var (
	typeNames  = []string{"type", "kind", "subtype", "role", "event", "method", "say", "ask"}
	typeValue  = regexp.MustCompile(`^[A-Za-z][\w./:-]*$`)
	usageNames = regexp.MustCompile(`(?i)usage|token|metrics|input|output|cache`)
)

// text notes a string if it is the type of a record.
func (c *renames) text(value string) {
	if len(c.keys) == 0 || !slices.Contains(typeNames, c.keys[len(c.keys)-1].name) || !typeValue.MatchString(value) {
		return
	}
	c.add(c.path(c.keys)+"="+value, c.quoted(value))
}

// number notes the members that a number is in, if it can be usage.
func (c *renames) number() {
	if !slices.ContainsFunc(c.keys, func(k key) bool { return usageNames.MatchString(k.name) }) {
		return
	}
	for i := range c.keys {
		c.add(c.path(c.keys[:i+1]), c.keys[i].span)
	}
}
