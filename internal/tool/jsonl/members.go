package jsonl

// Members are the members of one object, found in one pass. Use it to get
// several of them. The zero value is empty; its memory is reused.
type Members struct {
	of   []byte
	list []member
}

// A member is a member of an object, as parts of its bytes.
type member struct{ name, value span }

// Fill sets m to the members of the value at c and moves c past it.
func (m *Members) Fill(c *Cursor) {
	in := c.Inside().Members()
	m.read(&in)
	c.Past(in)
}

// Parse sets m to the members of v and returns the cursor after the last one.
func (m *Members) Parse(v Value) Cursor {
	in := v.Members()
	m.read(&in)
	return in
}

func (m *Members) read(in *Cursor) {
	const most = 64 // no known record has relevant members after these
	m.of, m.list = in.b, m.list[:0]
	for in.Next() {
		if len(m.list) < most {
			key := in.key
			in.pass()
			m.list = append(m.list, member{span{key.from + 1, key.to - 1}, in.val})
		}
	}
}

// Get returns the member with this name, or the value at path in it, like
// Value.Get. The name is compared without decoding escapes.
func (m *Members) Get(name string, path ...string) Value {
	for i := range m.list {
		if e := &m.list[i]; string(m.of[e.name.from:e.name.to]) == name {
			return Value(e.value.of(m.of)).Get(path...)
		}
	}
	return nil
}
