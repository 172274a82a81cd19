package codex

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value reads an expression. known reports whether all of it consists of literals.
func (s *source) value() (v any, known bool) {
	outer := s.unknown
	s.unknown = false
	v = s.expression()
	known = !s.unknown
	s.unknown = s.unknown || outer
	return v, known
}

// expression reads a literal, or several texts that are added. Another expression is
// returned as it is written.
func (s *source) expression() any {
	s.space()
	start := s.at
	if s.depth++; s.depth > maxDepth {
		s.depth--
		return s.other(start)
	}
	defer func() { s.depth-- }()
	v, ok := s.operand()
	for ok && s.take("+") {
		var next any
		next, ok = s.operand()
		a, isText := v.(string)
		b, also := next.(string)
		ok = ok && isText && also
		v = a + b
	}
	before := strings.TrimRight(s.text[:s.at], " \t")
	s.space()
	rest := s.rest()
	ended := rest == "" || strings.IndexByte(",;)]}", rest[0]) >= 0 ||
		(strings.HasSuffix(before, "\n") && isName(rest[0])) // a line without a semicolon
	if !ok || !ended {
		return s.other(start)
	}
	return v
}

// other returns an expression that is not a literal, and skips it.
func (s *source) other(start int) any {
	s.unknown = true
	s.at = start
	for open := 0; s.at < len(s.text) && s.steps < maxSteps; s.steps++ {
		if s.skip() {
			continue
		}
		c := s.text[s.at]
		switch {
		case strings.IndexByte("([{", c) >= 0:
			open++
		case strings.IndexByte(",;)]}", c) >= 0 && open == 0:
			return s.written(start)
		case strings.IndexByte(")]}", c) >= 0:
			open--
		}
		s.at++
	}
	return s.written(start)
}

// written returns the text since start as an expression in a template.
func (s *source) written(start int) string { return "${" + strings.TrimSpace(s.text[start:s.at]) + "}" }

// operand reads a literal or a constant.
func (s *source) operand() (v any, ok bool) {
	s.space()
	if s.at == len(s.text) {
		return nil, false
	}
	start := s.at
	switch c := s.text[start]; c {
	case '(':
		s.at++
		v = s.expression()
		return v, s.take(")")
	case '\'', '"', '`':
		return s.quoted(false), true
	case '[':
		return s.list()
	case '{':
		return s.object()
	case '-':
		s.at++
	}
	for s.at < len(s.text) && (isName(s.text[s.at]) || s.text[s.at] == '.') {
		s.at++
	}
	switch word := s.text[start:s.at]; word {
	case "true", "false":
		return word == "true", true
	case "null", "undefined":
		return nil, true
	case "String.raw":
		if s.at < len(s.text) && s.text[s.at] == '`' {
			return s.quoted(true), true
		}
		return nil, false
	default:
		if n, err := strconv.ParseFloat(word, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			return n, true
		}
		known, ok := s.names[word]
		s.unknown = s.unknown || (ok && !known.constant)
		return known.value, ok
	}
}

// list reads the elements of an array, and joins them if that follows.
func (s *source) list() (any, bool) {
	list := []any{}
	for s.at++; !s.take("]"); {
		if len(list) > 0 && !s.take(",") {
			return nil, false
		}
		if s.space(); s.at == len(s.text) {
			return nil, false
		}
		if s.text[s.at] != ']' {
			list = append(list, s.expression())
		}
	}
	if !s.take(".join(") {
		return list, true
	}
	separator, isText := s.expression().(string)
	var parts []string
	for _, e := range list {
		part, also := e.(string)
		parts, isText = append(parts, part), isText && also
	}
	return strings.Join(parts, separator), isText && s.take(")")
}

// object reads the members of an object.
func (s *source) object() (any, bool) {
	members := map[string]any{}
	first := true
	for s.at++; !s.take("}"); first = false {
		if !first && !s.take(",") {
			return nil, false
		}
		if s.take("}") {
			break
		}
		if s.take("...") {
			s.expression()
			s.unknown = true
			continue
		}
		s.space()
		start, name := s.at, ""
		if s.at < len(s.text) && strings.IndexByte("'\"", s.text[s.at]) >= 0 {
			name = s.quoted(false)
		} else if name = s.name(); name == "" {
			return nil, false
		}
		if !s.take(":") {
			s.at = start // {name} is {name: name}
		}
		members[name] = s.expression()
	}
	return members, true
}

// quoted reads a string or a template, in which expressions that are not texts stay as they
// are written.
func (s *source) quoted(raw bool) string {
	var b strings.Builder
	quote := s.text[s.at]
	for s.at++; s.at < len(s.text) && s.steps < maxSteps; s.steps++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return b.String()
		case c == '\\' && !raw:
			s.escape(&b)
		case c == '\\': // also before a quotation mark
			end := min(len(s.text), s.at+2)
			b.WriteString(s.text[s.at:end])
			s.at = end
		case quote == '`' && s.depth < maxDepth && strings.HasPrefix(s.rest(), "${"):
			s.at += 2
			start := s.at
			text, isText := s.expression().(string)
			if !isText {
				s.unknown = true
				text = s.written(start)
			}
			b.WriteString(text)
			s.at = min(len(s.text), s.at+1)
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	s.unknown = true // it has no end that was found
	return b.String()
}

// escape reads an escape sequence.
func (s *source) escape(b *strings.Builder) {
	rest := s.rest()
	if len(rest) == 1 {
		s.at++
		return
	}
	c, after := rest[1], rest[2:]
	r := rune(c)
	var err error
	switch {
	case strings.HasPrefix(rest, `\u{`):
		var code string
		var n uint64
		code, after, _ = strings.Cut(rest[3:], "}")
		n, err = strconv.ParseUint(code, 16, 21)
		r = rune(n)
	case c == 'u' && utf16.IsSurrogate(unit(rest)):
		r = utf16.DecodeRune(unit(rest), unit(rest[min(len(rest), 6):]))
		if after = rest[min(len(rest), 12):]; r == utf8.RuneError {
			err = strconv.ErrSyntax
		}
	case strings.IndexByte(`bfnrtvxu`, c) >= 0:
		if r, _, after, err = strconv.UnquoteChar(rest, 0); err != nil {
			after = rest[2:]
		}
	case c == '0':
		r = 0
	}
	s.at = len(s.text) - len(after)
	switch {
	case err != nil:
		s.unknown = true
	case c >= 0x80: // the first byte of a character
		b.WriteByte(c)
	case c != '\n':
		b.WriteRune(r)
	}
}

// unit returns the UTF-16 code unit that a text begins with, -1 if there is none.
func unit(text string) rune {
	if len(text) < 6 || !strings.HasPrefix(text, `\u`) {
		return -1
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
