package contract

import (
	"encoding/json"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonschema"
)

// maxNesting is how deep lists and objects may nest: what encoding/json reads.
const maxNesting = 10_000

// A parser reads one JSON value, as encoding/json does with UseNumber, in a
// third of the time: strings without escapes are parts of the document. It also
// finds keys that an object has twice, and numbers that are beyond calculating,
// for which it puts 0. Where it fails it doesn't say why.
type parser struct {
	text  string
	at    int
	way   []step
	items []any // of the lists that are open
	found []Problem
}

// A step is one of the way to a value: a key, or a place in a list.
type step = jsonschema.Step

// parse returns the value of a document, and false where it is no JSON.
func parse(text string) (v any, found []Problem, ok bool) {
	p := &parser{text: text}
	if v, ok = p.value(); !ok {
		return nil, nil, false
	}
	p.space()
	return v, p.found, p.at == len(text)
}

func (p *parser) add(text string) {
	p.found = append(p.found, Problem{Pointer: jsonschema.PointerTo(p.way), Text: text})
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next skips space and reports whether c follows, which it then takes.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() (any, bool) {
	p.space()
	if p.at == len(p.text) || len(p.way) > maxNesting {
		return nil, false
	}
	switch c := p.text[p.at]; {
	case c == '"':
		return p.str()
	case c == '{':
		return p.object()
	case c == '[':
		return p.list()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for word, v := range words {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return v, true
		}
	}
	return nil, false
}

var words = map[string]any{"true": true, "false": false, "null": nil}

func (p *parser) object() (any, bool) {
	p.at++
	object := map[string]any{}
	if p.next('}') {
		return object, len(p.way) < maxNesting
	}
	p.way = append(p.way, step{})
	for {
		p.space()
		if p.at == len(p.text) || p.text[p.at] != '"' {
			return nil, false
		}
		key, ok := p.str()
		if !ok || !p.next(':') {
			return nil, false
		}
		p.way[len(p.way)-1] = step{Key: key, Index: -1}
		if _, twice := object[key]; twice {
			p.add("is there twice")
		}
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		object[key] = v
		if p.next(',') {
			continue
		}
		p.way = p.way[:len(p.way)-1]
		return object, p.next('}')
	}
}

func (p *parser) list() (any, bool) {
	p.at++
	if p.next(']') {
		return []any{}, len(p.way) < maxNesting
	}
	first := len(p.items)
	for i := 0; ; i++ {
		p.way = append(p.way, step{Index: i})
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		p.way = p.way[:len(p.way)-1]
		p.items = append(p.items, v)
		if p.next(',') {
			continue
		}
		list := append(make([]any, 0, len(p.items)-first), p.items[first:]...)
		clear(p.items[first:])
		p.items = p.items[:first]
		return list, p.next(']')
	}
}

// str reads a string. One that has escapes is left to encoding/json.
func (p *parser) str() (string, bool) {
	from, escaped := p.at, false
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if !escaped {
				return p.text[from+1 : p.at-1], true
			}
			var s string
			err := json.Unmarshal([]byte(p.text[from:p.at]), &s)
			return s, err == nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

func (p *parser) number() (any, bool) {
	from := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		return nil, false
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		if p.at++; !p.digits() {
			return nil, false
		}
	}
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		if p.at++; p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return nil, false
		}
	}
	n := p.text[from:p.at]
	if !calculable(n) {
		p.add("is a number beyond what programs calculate with")
		n = "0"
	}
	return json.Number(n), true
}

// digits takes digits, and reports whether there was one.
func (p *parser) digits() bool {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}
