package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// A jsonFormat is JSON, with comments and commas at the end of lists if the file
// has them already.
type jsonFormat struct{}

// byteOrderMark may begin a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// emptyDocument is what a file without content stands for.
const emptyDocument = "{}\n"

func (jsonFormat) decode(text []byte) (map[string]any, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(emptyDocument)
	}
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("is not a JSON object")
	}
	return object, nil
}

// edit works on the text in front of, in and behind each value, so that comments,
// order and layout of everything else stay.
func (jsonFormat) edit(text []byte, path []any, value any) ([]byte, error) {
	mark, text := text[:len(text)-len(bytes.TrimPrefix(text, byteOrderMark))], bytes.TrimPrefix(text, byteOrderMark)
	strict := json.Valid(text)
	if len(bytes.TrimSpace(text)) == 0 {
		text, strict = []byte(emptyDocument), true
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	l := layout{end: "\n", indent: "  ", inline: false}
	if bytes.Contains(text, []byte("\r\n")) {
		l.end = "\r\n"
	}
	if object, ok := root.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		if space, ok := indentation(object.Members[0].Name.BeforeExtra); ok && space != "" {
			l.indent = space
		}
	}
	if err := l.change(&root, path, value); err != nil {
		return nil, err
	}
	out := root.Pack()
	if strict && !json.Valid(out) {
		return nil, errInexact
	}
	return append(bytes.Clone(mark), out...), nil
}

// A layout is how the surroundings of a value are laid out.
type layout struct {
	end    string // of a line
	indent string // of one level
	space  string // in front of the value that is edited
	inline bool   // values are behind one another, not on lines of their own
}

// change sets or removes what is at a path of v.
func (l layout) change(v *hujson.Value, path []any, value any) error {
	list := container{l: l}
	switch c := v.Value.(type) {
	case *hujson.Object:
		list.object = c
	case *hujson.Array:
		list.array = c
	default:
		return errInexact
	}
	list.lay()
	i := list.find(path[0])
	switch {
	case value == nil && len(path) == 1:
		for ; i >= 0; i = list.find(path[0]) {
			list.remove(i)
			if list.array != nil {
				break // the next one has its number
			}
		}
		return nil
	case i < 0:
		added, err := list.l.encode(changed(nil, path[1:], value))
		if err != nil {
			return err
		}
		list.add(path[0], added)
		return nil
	case len(path) > 1:
		return list.l.change(list.value(i), path[1:], value)
	}
	set, err := list.l.encode(value)
	if err == nil {
		list.value(i).Value = set.Value
	}
	return err
}

// A container is an object or a list. Its elements are the names and values of
// the object, or the values of the list.
type container struct {
	object *hujson.Object
	array  *hujson.Array
	l      layout // of its elements
}

func (c *container) len() int {
	if c.object != nil {
		return len(c.object.Members)
	}
	return len(c.array.Elements)
}

func (c *container) value(i int) *hujson.Value {
	if c.object != nil {
		return &c.object.Members[i].Value
	}
	return &c.array.Elements[i]
}

// before returns what is in front of an element: spaces and comments.
func (c *container) before(i int) *hujson.Extra {
	if c.object != nil {
		return &c.object.Members[i].Name.BeforeExtra
	}
	return &c.array.Elements[i].BeforeExtra
}

// after returns what is behind the last element.
func (c *container) after() *hujson.Extra {
	if c.object != nil {
		return &c.object.AfterExtra
	}
	return &c.array.AfterExtra
}

// lay finds out how the elements are laid out.
func (c *container) lay() {
	c.l.space += c.l.indent
	if n := c.len(); n > 0 {
		space, ok := indentation(*c.before(n - 1))
		if c.l.inline = !ok; ok {
			c.l.space = space
		}
	}
}

// find returns where an element is, -1 for nowhere. Of members with one name, the
// last one counts.
func (c *container) find(p any) int {
	for i := c.len() - 1; i >= 0; i-- {
		if c.object == nil && p == i {
			return i
		}
		if c.object == nil {
			continue
		}
		if name, ok := c.object.Members[i].Name.Value.(hujson.Literal); ok && p == name.String() {
			return i
		}
	}
	return -1
}

// add appends an element. What is behind the last element stays behind it if it
// is a comment, and in front of the end otherwise.
func (c *container) add(p any, v hujson.Value) {
	comment, rest := splitComment(*c.after())
	n := c.len()
	before := hujson.Extra(nil)
	switch {
	case !c.l.inline, len(comment) > 0 && bytes.Contains(rest, []byte("\n")):
		before = hujson.Extra(c.l.end + c.l.space)
	case n > 0:
		before = hujson.Extra(" ")
	}
	if n == 0 && !c.l.inline && !bytes.Contains(rest, []byte("\n")) {
		rest = hujson.Extra(c.l.end + strings.TrimSuffix(c.l.space, c.l.indent))
	}
	v.AfterExtra = nil
	if n > 0 && c.value(n-1).AfterExtra != nil {
		v.AfterExtra = hujson.Extra{} // a comma at the end
	}
	v.BeforeExtra = append(comment, before...)
	*c.after() = rest
	if c.object == nil {
		c.array.Elements = append(c.array.Elements, v)
		return
	}
	name, _ := p.(string)
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name), BeforeExtra: v.BeforeExtra}, Value: v}
	m.Value.BeforeExtra = hujson.Extra(" ")
	c.object.Members = append(c.object.Members, m)
}

// remove removes an element, but not the comments in front of it.
func (c *container) remove(i int) {
	comment, _ := splitComment(*c.before(i))
	last, end := i == c.len()-1, c.value(i).AfterExtra
	if c.object != nil {
		c.object.Members = append(c.object.Members[:i], c.object.Members[i+1:]...)
	} else {
		c.array.Elements = append(c.array.Elements[:i], c.array.Elements[i+1:]...)
	}
	next := c.after()
	if !last {
		next = c.before(i)
	}
	*next = append(comment, *next...)
	switch {
	case !last || i == 0:
	case end == nil:
		c.value(i - 1).AfterExtra = nil
	case c.value(i-1).AfterExtra == nil:
		c.value(i - 1).AfterExtra = hujson.Extra{}
	}
}

// indentation returns the spaces in front of a value, and whether it is on a line
// of its own.
func indentation(before hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return "", false
	}
	line := before[i+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), true
}

// splitComment splits spaces and comments behind the last comment. A comment to
// the end of a line leaves the line end to the rest.
func splitComment(extra hujson.Extra) (comment, rest hujson.Extra) {
	if !bytes.ContainsRune(extra, '/') {
		return nil, extra
	}
	end := len(bytes.TrimRight(extra, " \t\r\n"))
	return bytes.Clone(extra[:end]), bytes.Clone(extra[end:])
}

// encode returns a value that is laid out like its surroundings.
func (l layout) encode(value any) (hujson.Value, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if !l.inline {
		e.SetIndent(l.space, l.indent)
	}
	if err := e.Encode(value); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.ReplaceAll(bytes.TrimSpace(text.Bytes()), []byte("\n"), []byte(l.end)))
}
