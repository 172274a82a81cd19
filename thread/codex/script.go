package codex

import (
	"fmt"
	"path/filepath"
	"strings"

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
