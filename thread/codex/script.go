package codex

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/thread"
)

// applyPatch is the tool that changes files.
const applyPatch = "apply_patch"

// The limits of what is read of a script, which may be hostile.
const (
	maxScript = 2 * thread.MaxCall // bytes
	maxNames  = 64                 // calls, and constants
	maxDepth  = 16
	maxSteps  = 32 * maxScript // in texts, and in expressions that are not literals, which are read several times
)

// callsOf returns the calls of tools that the JavaScript of a script has, which runs in a
// directory. What is not a literal in their inputs is written as ${expression}. A call is
// inferred unless it is made by each run that completes, with this input.
func callsOf(js, dir string) []thread.Call {
	s := &source{text: js[:min(len(js), maxScript)], dir: dir, names: map[string]named{}}
	s.scan(false)
	return s.calls
}

// A source is the text of a script.
type source struct {
	text    string
	dir     string // in which it runs
	at      int
	calls   []thread.Call
	names   map[string]named
	failed  int  // names of other expressions
	unknown bool // the value that is read has a part that is not a literal
	depth   int
	steps   int

	maybe  bool // the statement may not run, or not all of it
	blocks int  // that are open
	over   bool // what follows may not run
}

// A named is a literal with a name.
type named struct {
	value    any
	constant bool // it has no other value
}

// certain reports whether what is read here runs.
func (s *source) certain() bool { return !s.maybe && s.blocks == 0 && !s.over }

// scan reads the calls in the rest of the script, or in the expression of a template.
func (s *source) scan(expression bool) {
	var open []bool // whether each open bracket is that of a block
	for s.at < len(s.text) && len(s.calls) < maxNames && s.steps < maxSteps {
		switch c := s.text[s.at]; {
		case c == '`':
			s.template()
		case s.skip(): // of a comment, a string or a regular expression
		case isName(c):
			if word := s.name(); word != "tools" {
				s.keyword(word, len(open) == 0 && !expression)
			} else if s.called() {
				open = append(open, false)
			}
		case strings.IndexByte("([{", c) >= 0:
			block := c == '{' && strings.IndexByte("=,(:[?&|+-<>!~*/%", s.before()) < 0
			open = append(open, block)
			if s.at++; block {
				s.blocks++
			}
		case strings.IndexByte(")]}", c) >= 0:
			if len(open) == 0 && expression && c == '}' {
				return
			}
			s.at++
			if len(open) == 0 {
				continue
			}
			block := open[len(open)-1]
			open = open[:len(open)-1]
			if block {
				s.blocks--
				s.maybe = s.maybe && (len(open) > 0 || expression)
			}
		default:
			two := s.rest()[:min(2, len(s.rest()))]
			s.maybe = (s.maybe || c == '?' || two == "&&" || two == "||" || two == "=>") &&
				!(c == ';' && len(open) == 0 && !expression)
			s.at++
		}
	}
}

// keyword reads on after a word. statement reports whether it is in no brackets.
func (s *source) keyword(word string, statement bool) {
	if i := s.at - len(word); i > 0 && s.text[i-1] == '.' {
		word = "." + word
	}
	switch word {
	case "const", "let", "var":
		s.maybe = s.maybe && (!statement || word == "var")
		if statement && s.certain() && len(s.names)+s.failed < maxNames {
			s.declare(word == "const")
		}
	case "if", "else", "for", "while", "do", "switch", "case", "function", "class", "try", "catch",
		"finally", "return", "throw":
		s.maybe = true
	case "exit", ".allSettled": // ends the script, and hides errors
		s.over = true
	case ".catch": // hides an error of an earlier call
		for i := range s.calls {
			s.calls[i].Inferred = true
		}
	}
}

// called reads a call, after the word tools. It reports whether a bracket is open then.
func (s *source) called() bool {
	start := s.at
	c, ok := s.call()
	if !ok {
		s.at = start
		return false
	}
	if c.ID = fmt.Sprintf("/%d", len(s.calls)+1); c.Dir != "" && !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(s.dir, c.Dir)
	}
	c.Inferred = c.Inferred || !s.certain()
	s.calls = append(s.calls, c)
	return true
}

// before returns the byte before the white space here, 0 if there is none.
func (s *source) before() byte {
	text := strings.TrimRight(s.text[:s.at], " \t\r\n")
	if text == "" {
		return 0
	}
	return text[len(text)-1]
}

// template reads the calls in the expressions of a template.
func (s *source) template() {
	s.depth++
	defer func() { s.depth-- }()
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '`':
			s.at++
			return
		case c == '\\':
			s.at = min(len(s.text)-1, s.at+1)
		case s.depth <= maxDepth && strings.HasPrefix(s.rest(), "${"):
			s.at += 2
			if s.scan(true); s.at == len(s.text) {
				return
			}
		}
	}
}

func (s *source) rest() string { return s.text[s.at:] }

// space skips white space and comments.
func (s *source) space() {
	for {
		rest := strings.TrimLeft(s.rest(), " \t\r\n")
		s.at = len(s.text) - len(rest)
		end := ""
		switch {
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			return
		}
		_, after, _ := strings.Cut(rest, end)
		s.at = len(s.text) - len(after)
	}
}

// take skips white space and a punctuation mark, if it follows.
func (s *source) take(mark string) bool {
	s.space()
	if !strings.HasPrefix(s.rest(), mark) {
		return false
	}
	s.at += len(mark)
	return true
}

func isName(c byte) bool {
	return c == '_' || c == '$' || ('0' <= c && c <= '9') || ('a' <= c|0x20 && c|0x20 <= 'z')
}

// name returns the name that follows, "" if there is none.
func (s *source) name() string {
	s.space()
	start := s.at
	for s.at < len(s.text) && isName(s.text[s.at]) {
		s.at++
	}
	return s.text[start:s.at]
}

// skip skips a comment, a string or a regular expression, if one begins here.
func (s *source) skip() bool {
	start := s.at
	switch rest := s.rest(); {
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"):
		s.space()
	case strings.IndexByte("'\"`", rest[0]) >= 0:
		s.quoted(false)
	case rest[0] == '/' && !isName(s.before()) && strings.IndexByte(")]}'\"`", s.before()) < 0:
		s.at += s.regexp(rest)
	}
	return s.at > start
}

// regexp returns the length of the regular expression with which a text begins, 0 if it
// has no end.
func (s *source) regexp(text string) int {
	class := false
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		s.steps++
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[', c == ']':
			class = c == '['
		case c == '/' && !class:
			return i + 1
		}
	}
	return 0
}

// declare reads a name and its value, which may have calls if it is not a literal.
func (s *source) declare(constant bool) {
	name := s.name()
	if !s.take("=") {
		return
	}
	start := s.at
	if v, known := s.value(); known {
		switch v.(type) {
		case []any, map[string]any:
			constant = false // it may be changed
		}
		s.names[name] = named{v, constant}
		return
	}
	s.at = start
	s.failed++
}

// call reads a call of a tool, after the word tools, up to its last bracket.
func (s *source) call() (c thread.Call, ok bool) {
	c.Inferred = s.take("?")
	switch {
	case s.take("."):
		c.Name = s.name()
	case s.take("["):
		v, known := s.value()
		if c.Name, _ = v.(string); !known || !s.take("]") {
			return c, false
		}
	}
	if c.Name == "" || !s.take("(") {
		return c, false
	}
	s.space()
	start := s.at
	if c.Input = "{}"; strings.HasPrefix(s.rest(), ")") {
		return c, true
	}
	v, known := s.value()
	switch v := v.(type) {
	case string:
		c.Input = thread.Clip(v)
	case map[string]any:
		c.Input = encode(v)
		c.Dir, _ = v["workdir"].(string)
	default:
		c.Input = encode(v)
	}
	if !known {
		c.Inferred = true
		s.at = start // the argument may have calls
	}
	return c, true
}

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
