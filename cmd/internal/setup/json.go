package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// A document is a JSON file with comments. Editing it changes nothing but what is
// added or removed: comments, order, indentation and line ends stay.
type document struct {
	root   hujson.Value
	indent string // of one level
	end    string // of a line
}

func parseDocument(data []byte) (*document, error) {
	d := &document{indent: "  ", end: "\n"}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, errors.New("is not valid JSON")
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("is not a JSON object")
	}
	d.root = root
	if bytes.Contains(data, []byte("\r\n")) {
		d.end = "\r\n"
	}
	if top := root.Value.(*hujson.Object); len(top.Members) > 0 {
		if space := lastLine(top.Members[0].Name.BeforeExtra); space != "" {
			d.indent = space
		}
	}
	return d, nil
}

// lastLine returns the spaces in front of a value that is on a line of its own.
func lastLine(before hujson.Extra) string {
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return ""
	}
	return string(before[i+1:])
}

func (d *document) bytes() []byte { return d.root.Pack() }

// set sets a member of the object at a path. It reports whether that is a change.
func (d *document) set(path []string, name string, value any) (bool, error) {
	o, err := d.object(path, true)
	if err != nil {
		return false, err
	}
	text, err := d.encode(value, len(path)+1)
	if err != nil {
		return false, err
	}
	for i := range o.Members {
		if memberName(o.Members[i]) != name {
			continue
		}
		if same(o.Members[i].Value, text.Value) {
			return false, nil
		}
		o.Members[i].Value.Value = text.Value
		return true, nil
	}
	d.addMember(o, name, text, len(path)+1)
	return true, nil
}

// add appends an element to the array at a path, unless it is in it. It reports
// whether that is a change.
func (d *document) add(path []string, value any) (bool, error) {
	parent, name := path[:len(path)-1], path[len(path)-1]
	o, err := d.object(parent, true)
	if err != nil {
		return false, err
	}
	v := member(o, name)
	if v == nil {
		d.addMember(o, name, hujson.Value{Value: &hujson.Array{}}, len(path))
		v = member(o, name)
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return false, fmt.Errorf("%s is not a list", strings.Join(path, "."))
	}
	text, err := d.encode(value, len(path)+1)
	if err != nil {
		return false, err
	}
	for _, e := range list.Elements {
		if same(e, text.Value) {
			return false, nil
		}
	}
	text.BeforeExtra = d.newLine(len(path) + 1)
	list.Elements, list.AfterExtra = d.append(list.Elements, text, list.AfterExtra, len(path))
	return true, nil
}

// append appends an element to a list. Lists that were on one line are laid out
// on several.
func (d *document) append(list []hujson.Value, v hujson.Value, after hujson.Extra, depth int) ([]hujson.Value, hujson.Extra) {
	if n := len(list); n > 0 {
		if space := lastLine(list[n-1].BeforeExtra); space != "" {
			v.BeforeExtra = hujson.Extra(d.end + space)
		}
	}
	if !bytes.Contains(after, []byte("\n")) {
		after = append(after, d.newLine(depth)...)
	}
	return append(list, v), after
}

// addMember appends a member to an object at a depth.
func (d *document) addMember(o *hujson.Object, name string, v hujson.Value, depth int) {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name), BeforeExtra: d.newLine(depth)}, Value: v}
	m.Value.BeforeExtra = hujson.Extra(" ")
	if n := len(o.Members); n > 0 {
		if space := lastLine(o.Members[n-1].Name.BeforeExtra); space != "" {
			m.Name.BeforeExtra = hujson.Extra(d.end + space)
		}
	}
	if !bytes.Contains(o.AfterExtra, []byte("\n")) {
		o.AfterExtra = append(o.AfterExtra, d.newLine(depth-1)...)
	}
	o.Members = append(o.Members, m)
}

func (d *document) newLine(depth int) hujson.Extra {
	return hujson.Extra(d.end + strings.Repeat(d.indent, depth))
}

// encode returns a value that is laid out for a depth.
func (d *document) encode(value any, depth int) (hujson.Value, error) {
	text, err := json.MarshalIndent(value, strings.Repeat(d.indent, depth), d.indent)
	if err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(d.end)))
}

// object returns the object at a path. With create, missing ones are added.
func (d *document) object(path []string, create bool) (*hujson.Object, error) {
	o := d.root.Value.(*hujson.Object)
	for i, name := range path {
		v := member(o, name)
		if v == nil {
			if !create {
				return nil, nil
			}
			d.addMember(o, name, hujson.Value{Value: &hujson.Object{}}, i+1)
			v = member(o, name)
		}
		next, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", strings.Join(path[:i+1], "."))
		}
		o = next
	}
	return o, nil
}

// remove removes a member of the object at a path. It reports whether it existed.
func (d *document) remove(path []string, name string) bool {
	o, err := d.object(path, false)
	if err != nil || o == nil {
		return false
	}
	for i, m := range o.Members {
		if memberName(m) == name {
			o.Members = append(o.Members[:i], o.Members[i+1:]...)
			return true
		}
	}
	return false
}

// removeElement removes an element of the list at a path.
func (d *document) removeElement(path []string, value any) bool {
	o, err := d.object(path[:len(path)-1], false)
	if err != nil || o == nil {
		return false
	}
	v := member(o, path[len(path)-1])
	if v == nil {
		return false
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return false
	}
	text, err := d.encode(value, 0)
	if err != nil {
		return false
	}
	for i, e := range list.Elements {
		if same(e, text.Value) {
			list.Elements = append(list.Elements[:i], list.Elements[i+1:]...)
			return true
		}
	}
	return false
}

func member(o *hujson.Object, name string) *hujson.Value {
	for i := range o.Members {
		if memberName(o.Members[i]) == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

func memberName(m hujson.ObjectMember) string {
	name, ok := m.Name.Value.(hujson.Literal)
	if !ok {
		return ""
	}
	return name.String()
}

// same reports whether two values are equal but for space and comments.
func same(v hujson.Value, w hujson.ValueTrimmed) bool {
	a, b := v.Clone(), (&hujson.Value{Value: w}).Clone()
	a.BeforeExtra, a.AfterExtra, b.BeforeExtra, b.AfterExtra = nil, nil, nil, nil
	a.Minimize()
	b.Minimize()
	return bytes.Equal(a.Pack(), b.Pack())
}
