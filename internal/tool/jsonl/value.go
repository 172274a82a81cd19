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

// A Value is the bytes of one JSON value, possibly with white space around it. An
// empty Value is absent; all methods accept it.
type Value []byte

// A Kind is the kind of a value, as its first byte shows.
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
	Malformed
)

// Kind returns the kind of v.
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
	return Malformed
}

// Get returns the value at a path of member names. If a name occurs twice in an
// object, the first member counts.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		c := v.Members()
		for c.Next() && !c.Is(name) {
		}
		v = c.Value()
	}
	return v
}

// Leading returns the bytes between the quotes of the string that is the first member
// of an object with this name. It returns nil if that may not be the first one, or if
// there are white space, objects or lists before its end: it is a fast attempt to
// determine the type of a record.
func (v Value) Leading(name string) []byte {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	for i := 1; ; i++ {
		key, end := plainString(v, i)
		if key == nil || end >= len(v)-1 || v[end] != ':' {
			return nil
		}
		i = end + 1
		if v[i] == '"' {
			var value []byte
			if value, i = plainString(v, i); value == nil || string(key) == name {
				return value
			}
		} else {
			for i < len(v) && class[v[i]]&ends == 0 {
				i++
			}
			if i == end+1 {
				return nil
			}
		}
		if i >= len(v) || v[i] != ',' || string(key) == name {
			return nil
		}
	}
}

// plainString returns the bytes of the string that starts at b[i], and its end. It
// returns nil if there is none, or if it may have an escape at its end.
func plainString(b []byte, i int) (s []byte, end int) {
	if i >= len(b) || b[i] != '"' {
		return nil, 0
	}
	n := bytes.IndexByte(b[i+1:], '"')
	if n < 0 || b[i+n] == '\\' {
		return nil, 0
	}
	return b[i+1 : i+1+n], i + n + 2
}

// Is reports whether v is the string s. Invalid UTF-8 may not compare equal.
func (v Value) Is(s string) bool {
	q := v.quoted()
	if len(q) < 2 {
		return false
	}
	return equal(q, s)
}

// Text returns the string v, "" if v is not a string. Invalid UTF-8 and unpaired
// surrogates become U+FFFD.
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

// Raw returns the bytes between the quotes of the string v, without decoding
// escapes. Use it to switch over known words.
func (v Value) Raw() []byte {
	q := v.quoted()
	if len(q) < 2 {
		return nil
	}
	return q[1 : len(q)-1]
}

// Int returns the number v, 0 if v is not a number. Fractions are truncated, and
// numbers out of range are limited to the nearest int64.
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

// maxCount is small enough that the counts of a damaged file can be added without
// overflow.
const maxCount = 1 << 48

// Count returns the number v as a count, from 0 to 1<<48.
func (v Value) Count() int64 { return min(max(0, v.Int()), maxCount) }

// Amount returns the number v, from 0 to 1<<48.
func (v Value) Amount() float64 { return min(max(0, v.Float()), maxCount) }

// ValidCounts reports whether Count changes none of the numbers in v, which is a
// number, or an object or list of numbers. Fractions are valid. A string of digits is not:
// it may be a count.
func (v Value) ValidCounts() bool { return v.validCounts(0) }

// ValidMember is ValidCounts for a member of an object.
func (v Value) ValidMember() bool { return v.validCounts(1) }

func (v Value) validCounts(depth int) bool {
	const deep = 4 // more than the usage of any tool
	switch kind := v.Kind(); {
	case kind == Number:
		const short = 14 // digits, which are less than maxCount
		if len(v) <= short && digits(v) {
			return true
		}
		f := v.Float()
		return f >= 0 && f <= maxCount
	case kind == String:
		text := v.Raw()
		return len(text) == 0 || !digits(text)
	case kind == Object && depth < deep:
		for c := v.Members(); c.Next(); {
			if !c.Value().validCounts(depth + 1) {
				return false
			}
		}
	case kind == Array && depth < deep:
		for c := v.Elements(); c.Next(); {
			if !c.Value().validCounts(depth + 1) {
				return false
			}
		}
	}
	return true
}

func digits(v Value) bool {
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Float returns the number v, 0 if v is not a number.
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

// Counts sets into to the counts of an object's members with the given names, in
// one pass, and reports whether the object has any member.
func (v Value) Counts(names []string, into []int64) (ok bool) {
	for c := v.Members(); c.Next(); ok = true {
		for i, name := range names {
			if string(c.Name()) == name {
				into[i] = c.Value().Count()
				break
			}
		}
	}
	return ok
}

// Time returns the time v in the format of RFC 3339, the zero time if v is not
// one or is not Encodable.
func (v Value) Time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(v.Raw()))
	if err != nil {
		return time.Time{}
	}
	return Encodable(t)
}

// Plain returns the string v, or the JSON text of any other value.
func (v Value) Plain() string {
	if v.Kind() == String {
		return v.Text()
	}
	return string(v)
}

// Compact returns the JSON text of v without white space between its parts.
// Invalid UTF-8 becomes U+FFFD.
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

// quoted returns v from its opening to its closing quote, or to its end if that
// is missing. It returns nil if v is not a string.
func (v Value) quoted() []byte {
	i := space(v, 0)
	if i == len(v) || v[i] != '"' {
		return nil
	}
	end, _ := skipString(v, i)
	return v[i:end]
}

// skipValue returns the end of the value that starts at b[i], and whether it is
// complete.
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

// skipString returns the end of the string that starts at the quote b[i], and
// whether it has a closing quote.
func skipString(b []byte, i int) (int, bool) {
	from := i + 1
	for at := from; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b), false
		}
		at += n + 1
		if b[at-2] != '\\' {
			return at, true
		}
		slashes := 0
		for j := at - 2; j >= from && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return at, true
		}
	}
}

const (
	white = 1 << iota
	ends  // ends a literal: white space, comma, closing bracket, quote
	structure
	between // follows a value or a name, and starts none
	comma
)

var class = func() (t [256]byte) {
	for _, c := range " \t\r\n" {
		t[c] = white | ends
	}
	for _, c := range "{}[]\"" {
		t[c] = structure | ends
	}
	t[','], t[':'] = ends|between|comma, ends|between
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

// equal reports whether the quoted string q is s. A string with escapes is longer
// than its decoded form.
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

// unescape decodes the bytes between the quotes of a string.
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

// valid returns b as a string, with U+FFFD for every invalid byte.
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

// hex returns the code unit of the \uXXXX that q starts with, -1 if there is none.
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
