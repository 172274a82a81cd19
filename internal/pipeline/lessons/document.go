package lessons

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/pipeline"
	"go.yaml.in/yaml/v4"
)

// A document is the content of a lessons file: a list of lessons, alone or as the
// key lessons of a mapping.
type document struct {
	comments []byte    // of a file that has nothing else
	root     yaml.Node // zero if the file is missing or empty
	list     *yaml.Node
	lessons  []pipeline.Lesson
}

func parse(b []byte) (document, error) {
	var d document
	if isEmpty(b) {
		return document{comments: b}, nil
	}
	err := yaml.Load(b, &d.root)
	if err == nil && len(d.root.Content) == 0 {
		err = errors.New("is not a list of lessons")
	}
	if err != nil {
		return document{}, plainfile.InvalidAt(err)
	}
	d.list = d.root.Content[0]
	if top := d.list; top.Kind == yaml.MappingNode {
		var file struct {
			Lessons yaml.Node `yaml:"lessons"`
		}
		if err := top.Decode(&file); err != nil {
			return document{}, plainfile.InvalidAt(err)
		}
		if d.list = value(top, "lessons"); d.list.Kind == yaml.AliasNode {
			d.list = d.list.Alias
		}
		if len(file.Lessons.Content) > 0 && len(d.list.Content) == 0 {
			return document{}, errors.New("the key lessons is merged from another one")
		}
	}
	if d.list.Kind != yaml.SequenceNode && d.list.Kind != 0 && d.list.Tag != "!!null" {
		return document{}, errors.New("is not a list of lessons")
	}
	for _, node := range d.list.Content {
		if node.Tag == "!!null" {
			continue
		}
		var l pipeline.Lesson
		if err := node.Decode(&l); err != nil {
			return document{}, plainfile.InvalidAt(err)
		}
		if l.Frequency = max(1, l.Frequency); node.Kind == yaml.MappingNode {
			l.Source = node
		}
		d.lessons = append(d.lessons, l)
	}
	return d, nil
}

// isEmpty reports whether a file has nothing but comments.
func isEmpty(b []byte) bool {
	for line := range bytes.Lines(b) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// value returns the value of a key, which is added if it is missing.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	v := &yaml.Node{}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
	return v
}

// with returns the document with other lessons. One that was read keeps its
// comments and its unknown fields.
func (d *document) with(list []pipeline.Lesson) ([]byte, error) {
	if d.list == nil {
		top := &yaml.Node{Kind: yaml.MappingNode}
		d.list = value(top, "lessons")
		d.root = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{top}}
	}
	d.list.Kind, d.list.Tag, d.list.Value, d.list.Style = yaml.SequenceNode, "!!seq", "", 0
	d.list.Content = nil
	for _, l := range list {
		node, err := encode(l)
		if err != nil {
			return nil, err
		}
		d.list.Content = append(d.list.Content, node)
	}
	b, err := yaml.Dump(&d.root, yaml.WithIndent(2))
	return append(slices.Clip(d.comments), b...), err
}

// encode returns the node of a lesson, with its values.
func encode(l pipeline.Lesson) (*yaml.Node, error) {
	node, _ := l.Source.(*yaml.Node)
	if node == nil {
		node = &yaml.Node{}
		return node, node.Encode(l)
	}
	var known pipeline.Lesson
	if err := node.Decode(&known); err != nil {
		return nil, err
	}
	for _, field := range []struct {
		key      string
		old, new string
	}{
		{"date", known.Date, l.Date}, {"issue", known.Issue, l.Issue}, {"mitigation", known.Mitigation, l.Mitigation},
		{"frequency", strconv.Itoa(known.Frequency), strconv.Itoa(l.Frequency)},
	} {
		if field.old == field.new {
			continue
		}
		v := value(node, field.key)
		comment := v.LineComment
		if err := v.Encode(field.new); err != nil {
			return nil, err
		}
		if field.key == "frequency" {
			v.Tag, v.Style = "!!int", 0
		}
		v.LineComment = comment
	}
	if !slices.Equal(known.Issues, l.Issues) {
		return node, value(node, "issues").Encode(l.Issues)
	}
	return node, nil
}
