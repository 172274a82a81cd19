package jsonl

import "bytes"

// A Cursor iterates over the members of an object or the elements of an array.
// Using one does not allocate.
type Cursor struct {
	b      []byte
	i      int
	key    span // the name with its quotes
	val    span
	object bool
	closed bool
	done   bool
	ahead  bool // the value starts at b[i], and its end is not known yet
}

// A span is a part of the bytes of a Cursor. Offsets cost less than slices, which the
// garbage collector follows.
type span struct{ from, to int }

func (s span) of(b []byte) []byte {
	if s.from == s.to {
		return nil
	}
	return b[s.from:s.to]
}

// Members returns a Cursor over the members of v, none if v is not an object.
func (v Value) Members() Cursor { return v.cursor('{') }

// Elements returns a Cursor over the elements of v, none if v is not an array.
func (v Value) Elements() Cursor { return v.cursor('[') }

func (v Value) cursor(open byte) Cursor {
	i := space(v, 0)
	if i == len(v) || v[i] != open {
		return Cursor{done: true}
	}
	return Cursor{b: v, i: i + 1, object: open == '{'}
}

// Next advances to the next member or element and reports whether there is one.
func (c *Cursor) Next() bool {
	if c.ahead {
		c.pass()
	}
	c.key, c.val = span{}, span{}
	if c.done {
		return false
	}
	b, i := c.b, c.i
	for i < len(b) && class[b[i]]&(white|comma) != 0 {
		i++
	}
	c.i = i
	if i == len(b) || b[i] == '}' || b[i] == ']' {
		c.done = true
		c.closed = i < len(b)
		c.i = min(i+1, len(b))
		return false
	}
	if (c.object && !c.member()) || c.i == len(b) || class[b[c.i]]&between != 0 {
		c.done = true
		return false
	}
	c.ahead = true
	return true
}

// pass skips the value. If its end is missing, it is the last one.
func (c *Cursor) pass() {
	if c.ahead {
		end, ok := skipValue(c.b, c.i)
		c.val = span{c.i, end}
		c.i = end
		c.ahead = false
		c.done = !ok
	}
}

// Inside returns the value with what follows it, because its end is not known yet.
// After iterating over all of its members or elements, Past moves c to that end.
func (c *Cursor) Inside() Value {
	if !c.ahead {
		return c.Value()
	}
	return c.b[c.i:]
}

// Past moves c past the value that in has iterated over. See Inside.
func (c *Cursor) Past(in Cursor) {
	if c.ahead && in.closed {
		c.val = span{c.i, c.i + in.i}
		c.i, c.ahead = c.i+in.i, false
	}
}

// member reads a name and its colon.
func (c *Cursor) member() bool {
	b, i := c.b, c.i
	if b[i] != '"' {
		return false
	}
	end, ok := skipString(b, i)
	if !ok {
		return false
	}
	c.key = span{i, end}
	c.i = space(b, end)
	if c.i == len(b) || b[c.i] != ':' {
		return false
	}
	c.i = space(b, c.i+1)
	return true
}

// Is reports whether name is the member's name.
func (c *Cursor) Is(name string) bool { return c.key.to > 0 && equal(c.b[c.key.from:c.key.to], name) }

// Name returns the member's name without decoding escapes. Use it to switch over
// known names.
func (c *Cursor) Name() []byte {
	if c.key.to == 0 {
		return nil
	}
	return c.b[c.key.from+1 : c.key.to-1]
}

// Key returns the member's name.
func (c *Cursor) Key() string { return Value(c.key.of(c.b)).Text() }

// Value returns the member's or element's value.
func (c *Cursor) Value() Value {
	c.pass()
	return c.val.of(c.b)
}

// Closed reports, after Next returned false, whether the object or array has its
// closing bracket.
func (c *Cursor) Closed() bool { return c.closed }

// Rest returns, after Next returned false, what follows the object or array. Some
// programs write two values on one line.
func (c *Cursor) Rest() Value {
	if !c.closed {
		return nil
	}
	return bytes.TrimSpace(c.b[c.i:])
}
