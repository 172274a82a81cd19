package preview

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A node is a JSON value. Numbers keep their spelling, and members their order.
type node struct {
	key   string
	named bool
	text  string // of a value without members
	class string
	list  bool
	open  bool // an object or array
	nodes []node
}

// A tree reads JSON values into nodes, up to its limits.
type tree struct {
	dec   *json.Decoder
	nodes int
}

var errTooLarge = errors.New("the JSON has too many values or levels to be rendered; it is shown as text")

// jsonHTML returns one or several JSON values as lists that can be folded.
func jsonHTML(text []byte) (template.HTML, error) {
	t := tree{dec: json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, byteOrderMark)))}
	t.dec.UseNumber()
	var values []node
	for {
		token, err := t.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		var n node
		if err == nil {
			n, err = t.value(token, 0)
		}
		if err != nil {
			if errors.Is(err, errTooLarge) {
				return "", err
			}
			return "", errors.New("not valid JSON; it is shown as text")
		}
		values = append(values, n)
	}
	var b strings.Builder
	b.WriteString(`<div class="json">` + "\n")
	for i := range values {
		values[i].write(&b, 0, len(values) == 1)
	}
	b.WriteString("</div>\n")
	return template.HTML(b.String()), nil
}

// value reads the value that starts with a token.
func (t *tree) value(token json.Token, depth int) (node, error) {
	if t.nodes++; t.nodes > maxNodes || depth > maxDepth {
		return node{}, errTooLarge
	}
	switch v := token.(type) {
	case json.Delim:
		return t.members(v == '[', depth)
	case string:
		quoted, err := handoff.EncodeJSON(v)
		return node{text: string(printable.JSON(quoted)), class: "str"}, err
	case json.Number:
		return node{text: v.String(), class: "num"}, nil
	case bool:
		return node{text: fmt.Sprint(v), class: "lit"}, nil
	}
	return node{text: "null", class: "lit"}, nil
}

func (t *tree) members(list bool, depth int) (node, error) {
	n := node{list: list, open: true}
	for t.dec.More() {
		key := ""
		if !list {
			token, err := t.dec.Token()
			if err != nil {
				return node{}, err
			}
			key, _ = token.(string)
		}
		token, err := t.dec.Token()
		if err != nil {
			return node{}, err
		}
		member, err := t.value(token, depth+1)
		if err != nil {
			return node{}, err
		}
		member.key, member.named = key, !list
		n.nodes = append(n.nodes, member)
	}
	_, err := t.dec.Token()
	return n, err
}

// unfolded is how many members a value may have that is not folded at first.
const unfolded = 40

func (n node) write(b *strings.Builder, depth int, open bool) {
	name := ""
	if n.named {
		name = `<span class="key">` + escape(printable.Line(n.key)) + "</span>: "
	}
	if !n.open {
		fmt.Fprintf(b, `<div>%s<span class="%s">%s</span></div>`+"\n", name, n.class, escape(strings.TrimSpace(n.text)))
		return
	}
	brackets, unit := "{}", "member"
	if n.list {
		brackets, unit = "[]", "item"
	}
	if len(n.nodes) != 1 {
		unit += "s"
	}
	if len(n.nodes) == 0 {
		fmt.Fprintf(b, "<div>%s%s</div>\n", name, brackets)
		return
	}
	state := ""
	if open && (depth == 0 || len(n.nodes) <= unfolded) {
		state = " open"
	}
	fmt.Fprintf(b, `<details%s><summary>%s%c <span class="muted">%d %s</span> %c</summary>`+"\n", state, name, brackets[0],
		len(n.nodes), unit, brackets[1])
	for _, member := range n.nodes {
		member.write(b, depth+1, open && depth < 2)
	}
	b.WriteString("</details>\n")
}
