package codex

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/agent-handoff/handoff/thread"
)

// applyPatch is the tool that changes files.
const applyPatch = "apply_patch"

// The limits of what is read of a script, which may be hostile.
const (
	maxScript = 1 << 20 // bytes
	maxCalls  = 64
)

// callsOf returns the calls of tools that the JavaScript of a script has, which runs in a
// directory. What is not a literal in their inputs is written as ${expression}. A call is
// inferred unless it is made by each run that completes, with this input. A text that is not
// JavaScript does not run.
func callsOf(text, dir string) []thread.Call {
	if len(text) > maxScript || !strings.Contains(text, "tools") {
		return nil
	}
	tree, err := js.Parse(parse.NewInputString(text), js.Options{})
	if err != nil {
		return nil
	}
	s := &source{dir: dir, names: map[*js.Var]named{}}
	js.Walk(s, tree)
	return s.calls
}

// A source is a script that is read.
type source struct {
	dir     string // in which it runs
	calls   []thread.Call
	names   map[*js.Var]named
	unknown bool // the value that is read has a part that is not a literal
	maybe   int  // open parts of the script that may not run
	over    bool // what follows may not run
}

// A named is a literal with a name.
type named struct {
	value    any
	constant bool // it has no other value
}

// Enter implements js.IVisitor.
func (s *source) Enter(n js.INode) js.IVisitor {
	if mayNotRun(n) {
		s.maybe++
	}
	switch n := n.(type) {
	case *js.VarDecl:
		s.declare(n)
	case *js.CallExpr:
		_, name, _ := member(n.X)
		v, isName := n.X.(*js.Var)
		if name == "allSettled" || (isName && string(v.Name()) == "exit") { // hides errors, and ends the script
			s.over = true
		}
		if len(s.calls) < maxCalls {
			s.call(n)
		}
	}
	return s
}

// Exit implements js.IVisitor.
func (s *source) Exit(n js.INode) {
	if mayNotRun(n) {
		s.maybe--
	}
	if call, ok := n.(*js.CallExpr); ok {
		if _, name, _ := member(call.X); name == "catch" { // hides an error of an earlier call
			for i := range s.calls {
				s.calls[i].Inferred = true
			}
		}
	}
}

// mayNotRun reports whether a part of a script may not run, or not all of it.
func mayNotRun(n js.INode) bool {
	switch n := n.(type) {
	case *js.IfStmt, *js.ForStmt, *js.ForInStmt, *js.ForOfStmt, *js.WhileStmt, *js.DoWhileStmt, *js.SwitchStmt,
		*js.TryStmt, *js.ReturnStmt, *js.ThrowStmt, *js.CondExpr, *js.FuncDecl, *js.ArrowFunc, *js.MethodDecl,
		*js.ClassDecl:
		return true
	case *js.BinaryExpr:
		return n.Op == js.AndToken || n.Op == js.OrToken || n.Op == js.NullishToken
	}
	return false
}

// member returns the object and the name of a member, "" if it is none. optional is set if
// the object may be missing.
func member(e js.IExpr) (of js.IExpr, name string, optional bool) {
	switch e := e.(type) {
	case *js.DotExpr:
		return e.X, e.Y.String(), e.Optional
	case *js.IndexExpr:
		if l, ok := e.Y.(*js.LiteralExpr); ok && l.TokenType == js.StringToken {
			name, _ = unescape(l.Data[1 : len(l.Data)-1])
		}
		return e.X, name, e.Optional
	}
	return nil, "", false
}

// call adds a call, if it is one of a tool.
func (s *source) call(n *js.CallExpr) {
	of, name, optional := member(n.X)
	if v, ok := of.(*js.Var); !ok || string(v.Name()) != "tools" || name == "" {
		return
	}
	s.unknown = false
	c := thread.Call{ID: fmt.Sprintf("/%d", len(s.calls)+1), Name: name, Input: "{}"}
	if len(n.Args.List) > 0 {
		switch v := s.value(n.Args.List[0].Value).(type) {
		case string:
			c.Input = thread.Clip(v)
		case map[string]any:
			c.Input = encode(v)
			c.Dir, _ = v["workdir"].(string)
		default:
			c.Input = encode(v)
		}
	}
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(s.dir, c.Dir)
	}
	c.Inferred = s.unknown || optional || s.maybe > 0 || s.over
	s.calls = append(s.calls, c)
}

// declare notes the names that are literals.
func (s *source) declare(n *js.VarDecl) {
	for _, e := range n.List {
		name, ok := e.Binding.(*js.Var)
		if !ok || e.Default == nil {
			continue
		}
		s.unknown = false
		v := s.value(e.Default)
		constant := n.TokenType == js.ConstToken
		switch v.(type) {
		case []any, map[string]any:
			constant = false // it may be changed
		}
		if !s.unknown {
			s.names[name] = named{v, constant}
		}
	}
}

// value returns the value of an expression. One that is not a literal is a text, as it is
// written.
func (s *source) value(e js.IExpr) any {
	if v, ok := s.literal(e); ok {
		return v
	}
	return s.written(e)
}

// written returns an expression as it is written.
func (s *source) written(e js.IExpr) string {
	s.unknown = true
	var b strings.Builder
	e.JS(&b)
	return "${" + b.String() + "}"
}

// literal returns the value of a literal or a name. It may have parts that are neither.
func (s *source) literal(e js.IExpr) (v any, ok bool) {
	switch e := e.(type) {
	case *js.GroupExpr:
		return s.literal(e.X)
	case *js.LiteralExpr:
		return s.plain(e)
	case *js.UnaryExpr:
		v, ok = s.literal(e.X)
		n, isNumber := v.(float64)
		return -n, ok && isNumber && e.Op == js.NegToken
	case *js.Var:
		for e.Link != nil {
			e = e.Link
		}
		known, ok := s.names[e]
		s.unknown = s.unknown || (ok && !known.constant)
		return known.value, ok || string(e.Data) == "undefined"
	case *js.BinaryExpr:
		a, isText := s.text(e.X)
		b, also := s.text(e.Y)
		return a + b, e.Op == js.AddToken && isText && also
	case *js.TemplateExpr:
		return s.template(e)
	case *js.ArrayExpr:
		return s.list(e), true
	case *js.ObjectExpr:
		return s.object(e), true
	case *js.CallExpr:
		return s.joined(e)
	}
	return nil, false
}

// text returns the value of a literal that is a text.
func (s *source) text(e js.IExpr) (text string, ok bool) {
	v, ok := s.literal(e)
	text, isText := v.(string)
	return text, ok && isText
}

func (s *source) plain(e *js.LiteralExpr) (v any, ok bool) {
	switch e.TokenType {
	case js.TrueToken, js.FalseToken:
		return e.TokenType == js.TrueToken, true
	case js.NullToken:
		return nil, true
	case js.StringToken:
		return s.quoted(e.Data[1 : len(e.Data)-1]), true
	}
	n, err := strconv.ParseFloat(string(e.Data), 64)
	return n, err == nil
}

func (s *source) template(e *js.TemplateExpr) (text string, ok bool) {
	read := s.quoted
	if e.Tag != nil {
		if of, name, _ := member(e.Tag); name != "raw" || of.String() != "String" {
			return "", false
		}
		read = func(b []byte) string { return string(b) }
	}
	for _, p := range e.List {
		text += read(p.Value[1 : len(p.Value)-2])
		part, isText := s.text(p.Expr)
		if !isText {
			part = s.written(p.Expr)
		}
		text += part
	}
	return text + read(e.Tail[1:len(e.Tail)-1]), true
}

func (s *source) list(e *js.ArrayExpr) []any {
	list := []any{}
	for _, element := range e.List {
		if element.Value == nil || element.Spread {
			s.unknown = true
			continue
		}
		list = append(list, s.value(element.Value))
	}
	return list
}

func (s *source) object(e *js.ObjectExpr) map[string]any {
	members := map[string]any{}
	for _, p := range e.List {
		if p.Name == nil || p.Name.IsComputed() {
			s.unknown = true
			continue
		}
		name := string(p.Name.Literal.Data)
		if p.Name.Literal.TokenType == js.StringToken {
			name = s.quoted(p.Name.Literal.Data[1 : len(name)-1])
		}
		members[name] = s.value(p.Value)
	}
	return members
}

// joined returns the text of a list whose elements are joined.
func (s *source) joined(e *js.CallExpr) (text string, ok bool) {
	of, name, _ := member(e.X)
	list, isList := of.(*js.ArrayExpr)
	if !isList || name != "join" || len(e.Args.List) != 1 {
		return "", false
	}
	separator, ok := s.text(e.Args.List[0].Value)
	var parts []string
	for _, v := range s.list(list) {
		part, isText := v.(string)
		parts, ok = append(parts, part), ok && isText
	}
	return strings.Join(parts, separator), ok
}

// quoted returns what is written between quotation marks.
func (s *source) quoted(b []byte) string {
	text, ok := unescape(b)
	s.unknown = s.unknown || !ok
	return text
}

// unescape replaces the escape sequences of a string. ok is false if one is not valid.
func unescape(text []byte) (_ string, ok bool) {
	ok = true
	var b strings.Builder
	for rest := string(text); rest != ""; {
		before, after, escaped := strings.Cut(rest, `\`)
		b.WriteString(before)
		if !escaped || after == "" {
			break
		}
		r, n, valid := escape(after)
		if ok = ok && valid; valid && r >= 0 {
			b.WriteRune(r)
		}
		rest = after[n:]
	}
	return b.String(), ok
}

// escape returns the character of an escape sequence after its backslash, -1 for the end of
// a line, and the length of the sequence.
func escape(text string) (r rune, n int, ok bool) {
	hex := func(from, to int) rune {
		if n = min(to, len(text)); n < to {
			return utf8.RuneError
		}
		v, err := strconv.ParseUint(text[from:to], 16, 21)
		if err != nil {
			return utf8.RuneError
		}
		return rune(v)
	}
	switch i := slices.Index([]byte("bfnrtv0\n"), text[0]); {
	case i >= 0:
		return []rune("\b\f\n\r\t\v\x00\xff")[i], 1, true
	case text[0] == 'x':
		r = hex(1, 3)
	case strings.HasPrefix(text, "u{"):
		end := strings.IndexByte(text, '}')
		if r = hex(2, max(end, 2)); end > 0 {
			n = end + 1
		}
	case text[0] == 'u':
		if r = hex(1, 5); utf16.IsSurrogate(r) && strings.HasPrefix(text[5:], `\u`) {
			first := r
			r = utf16.DecodeRune(first, hex(7, 11))
		}
	default:
		r, n = utf8.DecodeRuneInString(text)
	}
	return r, n, r != utf8.RuneError && utf8.ValidRune(r)
}
