package jsonl

import "bytes"

// A Cursor iterates over the members of an object or the elements of an array.
// Using one does not allocate.
type Cursor struct {
	b      []byte
	i      int
	key    []byte
	val    []byte
	object bool
	closed bool
	done   bool
	ahead  bool // the value starts at b[i], and its end is not known yet
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
	c.pass()
	c.key, c.val = nil, nil
	if c.done {
		return false
	}
	for c.i = space(c.b, c.i); c.i < len(c.b) && c.b[c.i] == ','; c.i = space(c.b, c.i+1) {
	}
	if c.i == len(c.b) || c.b[c.i] == '}' || c.b[c.i] == ']' {
		c.done = true
		c.closed = c.i < len(c.b)
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

// pass skips the value. If its end is missing, it is the last one.
func (c *Cursor) pass() {
	if c.ahead {
		end, ok := skipValue(c.b, c.i)
		c.val = c.b[c.i:end]
		c.i, c.ahead, c.done = end, false, !ok
	}
}

// inside returns a Cursor over the members of the value, whose end is not known
// yet. After iterating over it, past moves c to that end.
func (c *Cursor) inside() Cursor { return Value(c.b[c.i:]).Members() }

func (c *Cursor) past(in Cursor) {
	if c.ahead && in.closed {
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

// Is reports whether name is the member's name.
func (c *Cursor) Is(name string) bool { return len(c.key) >= 2 && equal(c.key, name) }

// Name returns the member's name without decoding escapes. Use it to switch over
// known names.
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
