package contract

import (
	"encoding/json"
	"strings"

	"github.com/agent-handoff/handoff/jsonschema"
)

// A parser builds the value of a JSON text that json.Valid accepts, with numbers
// as json.Number. Unlike encoding/json it reports duplicate keys, because
// readers differ in which one they use, and numbers too large to compute with,
// which it replaces with 0; both with their JSON pointer.
//
// The tokens of encoding/json would give the same in fewer lines, but take 55 ms
// for a plan of 1 MB where json.Valid and this parser take 15: more than the
// whole command may. The jsontext package of encoding/json/v2 reports duplicate
// keys; it replaces this file when it is in the standard library by default.
type parser struct {
	text  string
	at    int
	path  []jsonschema.Step
	found []jsonschema.Problem
}

// parse returns the value of a valid JSON text and the problems in it.
func parse(text string) (any, []jsonschema.Problem) {
	p := &parser{text: text}
	return p.value(), p.found
}

func (p *parser) add(text string) {
	p.found = append(p.found, jsonschema.Problem{Pointer: jsonschema.PointerTo(p.path), Text: text})
}

// next returns the next byte that is not white space.
func (p *parser) next() byte {
	for p.text[p.at] <= ' ' {
		p.at++
	}
	return p.text[p.at]
}

func (p *parser) value() any {
	switch p.next() {
	case '"':
		return p.str()
	case '{':
		return p.object()
	case '[':
		return p.list()
	}
	from := p.at
	for p.at < len(p.text) && p.text[p.at] > ' ' && p.text[p.at] != ',' && p.text[p.at] != ']' && p.text[p.at] != '}' {
		p.at++
	}
	switch word := p.text[from:p.at]; {
	case word == "null":
		return nil
	case word == "true", word == "false":
		return word == "true"
	case !computable(word):
		p.add("is a number that is too large or too precise")
		return json.Number("0")
	default:
		return json.Number(word)
	}
}

func (p *parser) object() any {
	object := map[string]any{}
	p.path = append(p.path, jsonschema.Step{})
	for p.at++; p.next() != '}'; {
		if p.text[p.at] == ',' {
			p.at++
			p.next()
		}
		key := p.str()
		p.next() // the colon
		p.at++
		p.path[len(p.path)-1] = jsonschema.Step{Key: key, Index: -1}
		if _, ok := object[key]; ok {
			p.add("is a duplicate key")
		}
		object[key] = p.value()
	}
	p.at++
	p.path = p.path[:len(p.path)-1]
	return object
}

func (p *parser) list() any {
	list := []any{}
	for p.at++; p.next() != ']'; {
		if p.text[p.at] == ',' {
			p.at++
		}
		p.path = append(p.path, jsonschema.Step{Index: len(list)})
		list = append(list, p.value())
		p.path = p.path[:len(p.path)-1]
	}
	p.at++
	return list
}

// str reads a string. One with escapes is decoded by encoding/json.
func (p *parser) str() string {
	from := p.at
	end := from + 1 + strings.IndexByte(p.text[from+1:], '"')
	if plain := p.text[from+1 : end]; strings.IndexByte(plain, '\\') < 0 {
		p.at = end + 1
		return plain
	}
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	var s string
	_ = json.Unmarshal([]byte(p.text[from:p.at]), &s) // it is valid
	return s
}
