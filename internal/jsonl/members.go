package jsonl

// Members are the members of one object, found in one pass. Use it to get
// several of them. The zero value is empty; its memory is reused.
type Members struct {
	names, values [][]byte
}

// Fill sets m to the members of the value at c and moves c past it.
func (m *Members) Fill(c *Cursor) {
	in := Value(c.val).Members()
	if c.ahead {
		in = c.inside()
	}
	m.read(&in)
	c.past(in)
}

// Parse sets m to the members of v and returns the cursor after the last one.
func (m *Members) Parse(v Value) Cursor {
	in := v.Members()
	m.read(&in)
	return in
}

func (m *Members) read(in *Cursor) {
	const most = 64 // no known record has relevant members after these
	m.names, m.values = m.names[:0], m.values[:0]
	for in.Next() {
		if len(m.names) < most {
			m.names, m.values = append(m.names, in.Name()), append(m.values, in.Value())
		}
	}
}

// Get returns the member with this name, or the value at path in it, like
// Value.Get. The name is compared without decoding escapes.
func (m *Members) Get(name string, path ...string) Value {
	for i, n := range m.names {
		if string(n) == name {
			return Value(m.values[i]).Get(path...)
		}
	}
	return nil
}
