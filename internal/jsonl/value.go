package jsonl

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// A Value is the bytes of one JSON value, and perhaps white space around it. An
// empty Value is an absent one; every method may be called on it.
type Value []byte

// A Kind is what a value is, told by its first byte.
type Kind byte

// The kinds.
const (
	Absent Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
	Broken
)

// Kind returns what v is.
func (v Value) Kind() Kind {
	i := space(v, 0)
	if i == len(v) {
		return Absent
	}
	switch c := v[i]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == 't', c == 'f':
		return Bool
	case c == 'n':
		return Null
	case c == '-', c >= '0' && c <= '9':
		return Number
	}
	return Broken
}

// Get returns the member of an object that the path of names leads to, the
// first where a name occurs twice.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		c := v.Members()
		for c.Next() && !c.Is(name) {
		}
		v = c.Value()
	}
	return v
}

// First sets v to what a member is, unless it is set: of members of one name the
// first counts, as with Get.
func (v *Value) First(to Value) {
	if *v == nil {
		*v = to
	}
}

// Is reports whether v is the string s. What is not UTF-8 may equal nothing.
func (v Value) Is(s string) bool {
	q := v.quoted()
	if len(q) < 2 {
		return false
	}
	return equal(q, s)
}

// Text returns the string that v is, "" if it is none. Bytes that are not
// UTF-8 and halves of surrogate pairs become U+FFFD.
func (v Value) Text() string {
	q := v.quoted()
	if len(q) < 2 {
		return ""
	}
	q = q[1:]
	if q[len(q)-1] == '"' {
		q = q[:len(q)-1]
	}
	if bytes.IndexByte(q, '\\') < 0 {
		return valid(q)
	}
	return unescape(q)
}

// Raw returns the inside of the string that v is, not decoded: what a switch
// over known words needs.
func (v Value) Raw() []byte {
	q := v.quoted()
	if len(q) < 2 {
		return nil
	}
	return q[1 : len(q)-1]
}

// Int returns the integer that v is, 0 if it is none. A number with a fraction
// is cut, one out of range is the nearest.
func (v Value) Int() int64 {
	const short = 18 // digits, which can't overflow
	n, digits := int64(0), len(v) > 0 && len(v) <= short
	for _, c := range v {
		n = n*10 + int64(c-'0')
		digits = digits && c >= '0' && c <= '9'
	}
	if digits {
		return n
	}
	b := bytes.TrimSpace(v)
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err == nil {
		return n
	}
	f := v.Float()
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// Float returns the number that v is, 0 if it is none.
func (v Value) Float() float64 {
	if v.Kind() != Number {
		return 0
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
	if err != nil && math.IsNaN(f) {
		return 0
	}
	return f
}

// Time returns the time that v says as RFC 3339 does, the zero one if it says
// none.
func (v Value) Time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(v.Raw()))
	if err != nil {
		return time.Time{}
	}
	return t
}

// Plain returns the string that v is, and anything else as it is written.
func (v Value) Plain() string {
	if v.Kind() == String {
		return v.Text()
	}
	return string(v)
}

// Compact returns v as it is written, without white space between its parts.
// Bytes that are not UTF-8 become U+FFFD.
func (v Value) Compact() string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return valid(v)
	}
	return valid(b.Bytes())
}

// True reports whether v is true.
func (v Value) True() bool {
	i := space(v, 0)
	return bytes.HasPrefix(v[i:], []byte("true"))
}

// quoted returns v from its opening quote to its closing one, or to its end
// where that is missing; nil if v is no string.
func (v Value) quoted() []byte {
	i := space(v, 0)
	if i == len(v) || v[i] != '"' {
		return nil
	}
	end, _ := skipString(v, i)
	return v[i:end]
}

// A Cursor steps through the members of an object or the elements of an array
// in one pass. It is a plain value: using one allocates nothing.
type Cursor struct {
	b      []byte
	i      int
	key    []byte
	val    []byte
	object bool
	whole  bool
	done   bool
	ahead  bool // the value starts at b[i], and its end was not looked for
}

// Members returns a Cursor over the members of v, over none if v is no object.
func (v Value) Members() Cursor { return v.cursor('{') }

// Elements returns a Cursor over the elements of v, over none if v is no array.
func (v Value) Elements() Cursor { return v.cursor('[') }

func (v Value) cursor(open byte) Cursor {
	i := space(v, 0)
	if i == len(v) || v[i] != open {
		return Cursor{done: true}
	}
	return Cursor{b: v, i: i + 1, object: open == '{'}
}

// Next moves to the next member or element and reports whether there is one.
func (c *Cursor) Next() bool {
	c.pass()
	c.key, c.val = nil, nil
	if c.done {
		return false
	}
	for c.i = space(c.b, c.i); c.i < len(c.b) && c.b[c.i] == ','; c.i = space(c.b, c.i+1) {
	}
	if c.i == len(c.b) || c.b[c.i] == '}' || c.b[c.i] == ']' {
		c.done = true
		c.whole = c.i < len(c.b)
		c.i = min(c.i+1, len(c.b))
		return false
	}
	if c.object && !c.member() || c.i == len(c.b) || class[c.b[c.i]]&between != 0 {
		c.done = true
		return false
	}
	c.ahead = true
	return true
}

// pass steps over the value. If its end is missing, it is the last there is.
func (c *Cursor) pass() {
	if c.ahead {
		end, ok := skipValue(c.b, c.i)
		c.val = c.b[c.i:end]
		c.i, c.ahead, c.done = end, false, !ok
	}
}

// inside returns a Cursor over the members of the value, whose end is not looked
// for; past goes on behind it once it was stepped through.
func (c *Cursor) inside() Cursor { return Value(c.b[c.i:]).Members() }

func (c *Cursor) past(in Cursor) {
	if c.ahead && in.whole {
		c.val = c.b[c.i : c.i+in.i]
		c.i, c.ahead = c.i+in.i, false
	}
}

// member reads a name and its colon.
func (c *Cursor) member() bool {
	if c.b[c.i] != '"' {
		return false
	}
	end, ok := skipString(c.b, c.i)
	if !ok {
		return false
	}
	c.key = c.b[c.i:end]
	c.i = space(c.b, end)
	if c.i == len(c.b) || c.b[c.i] != ':' {
		return false
	}
	c.i = space(c.b, c.i+1)
	return true
}

// Is reports whether the member's name is name.
func (c *Cursor) Is(name string) bool { return len(c.key) >= 2 && equal(c.key, name) }

// Name returns the member's name as it is written: what a switch over known
// names needs.
func (c *Cursor) Name() []byte {
	if len(c.key) < 2 {
		return nil
	}
	return c.key[1 : len(c.key)-1]
}

// Key returns the member's name.
func (c *Cursor) Key() string { return Value(c.key).Text() }

// Value returns the member's or element's value.
func (c *Cursor) Value() Value {
	c.pass()
	return c.val
}

// Whole reports, after Next returned false, whether the object or array was
// closed.
func (c *Cursor) Whole() bool { return c.whole }

// Rest returns, after Next returned false, what follows the object or array:
// some writers glue two values on one line.
func (c *Cursor) Rest() Value {
	if !c.whole {
		return nil
	}
	return bytes.TrimSpace(c.b[c.i:])
}

// skipValue returns where the value that starts at b[i] ends, and whether its
// end is there.
func skipValue(b []byte, i int) (int, bool) {
	if i == len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && class[b[i]]&ends == 0 {
		i++
	}
	return i, true
}

func skipNested(b []byte, i int) (int, bool) {
	depth := 0
	for i < len(b) {
		c := b[i]
		if class[c]&structure == 0 {
			i++
			continue
		}
		switch c {
		case '"':
			end, ok := skipString(b, i)
			if !ok {
				return end, false
			}
			i = end
			continue
		case '{', '[':
			depth++
		default:
			depth--
			if depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return i, false
}

// skipString returns where the string that starts at the quote b[i] ends, and
// whether its closing quote is there.
func skipString(b []byte, i int) (int, bool) {
	from := i + 1
	for at := from; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b), false
		}
		at += n
		slashes := 0
		for j := at - 1; j >= from && b[j] == '\\'; j-- {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			return at, true
		}
	}
}

const (
	white = 1 << iota
	ends  // ends a literal: white space, comma, closing bracket, quote
	structure
	between // comes after a value or a name, and begins none
)

var class = func() (t [256]byte) {
	for _, c := range " \t\r\n" {
		t[c] = white | ends
	}
	for _, c := range "{}[]\"" {
		t[c] = structure | ends
	}
	t[','], t[':'] = ends|between, ends|between
	t['}'] |= between
	t[']'] |= between
	return t
}()

func space(b []byte, i int) int {
	for i < len(b) && class[b[i]]&white != 0 {
		i++
	}
	return i
}

// equal reports whether the quoted string q says s. What is escaped is longer
// than what it says.
func equal(q []byte, s string) bool {
	body := q[1 : len(q)-1]
	if len(body) < len(s) {
		return false
	}
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body) == s
	}
	return Value(q).Text() == s
}

// unescape decodes the inside of a string.
func unescape(q []byte) string {
	var out strings.Builder
	out.Grow(len(q))
	for len(q) > 0 {
		n := bytes.IndexByte(q, '\\')
		if n < 0 {
			n = len(q)
		}
		if utf8.Valid(q[:n]) {
			out.Write(q[:n])
		} else {
			out.WriteString(valid(q[:n]))
		}
		q = q[n:]
		if len(q) < 2 {
			break
		}
		r, size := escape(q)
		out.WriteRune(r)
		q = q[size:]
	}
	return out.String()
}

// valid returns b as a string, with U+FFFD for every byte that is not UTF-8.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.Map(func(r rune) rune { return r }, string(b))
}

// escape decodes the escape that q starts with and returns its length.
func escape(q []byte) (rune, int) {
	switch q[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r := hex(q)
		if r < 0 {
			return utf8.RuneError, 2
		}
		if utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, hex(q[6:])); pair != utf8.RuneError {
				return pair, 12
			}
			return utf8.RuneError, 6
		}
		return r, 6
	case '"', '\\', '/':
		return rune(q[1]), 2
	}
	return utf8.RuneError, 1
}

// hex returns the code unit that q's \uXXXX says, -1 if q does not start so.
func hex(q []byte) rune {
	if len(q) < 6 || q[0] != '\\' || q[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(q[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
