package jsonl

// Members are the members of one object, found in one pass: for whoever asks for
// several. The zero value has none; filling it again reuses its memory.
type Members struct {
	names, values [][]byte
}

// Fill finds the members of the value that c is at, and moves c behind it.
func (m *Members) Fill(c *Cursor) {
	m.names, m.values = m.names[:0], m.values[:0]
	in := Value(c.val).Members()
	if c.ahead {
		in = c.inside()
	}
	m.read(&in)
	c.past(in)
}

// Of finds the members of v.
func (m *Members) Of(v Value) {
	m.names, m.values = m.names[:0], m.values[:0]
	in := v.Members()
	m.read(&in)
}

func (m *Members) read(in *Cursor) {
	const most = 64 // beyond that no tool says what matters
	for in.Next() {
		if len(m.names) < most {
			m.names, m.values = append(m.names, in.Name()), append(m.values, in.Value())
		}
	}
}

// Get returns the member of this name, or what the path leads to from there, as
// Value.Get does. The name is compared as it is written.
func (m *Members) Get(name string, path ...string) Value {
	for i, n := range m.names {
		if string(n) == name {
			return Value(m.values[i]).Get(path...)
		}
	}
	return nil
}
