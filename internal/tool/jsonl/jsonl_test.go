package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", jsonl.MaxLine+5)
	for _, tt := range []struct {
		name, in string
		want     []string
		torn     bool
	}{
		{"empty", "", nil, false},
		{"blank lines", "\n \r\n\n", nil, false},
		{"lines", "{}\n[]\r\n", []string{"{}", "[]"}, false},
		{"torn", "{}\n{\"a\":", []string{"{}", `{"a":`}, true},
		{"longer than a chunk", strings.Repeat("y", 700<<10) + "\nz\n", []string{strings.Repeat("y", 700<<10), "z"}, false},
		{"longer than the cap", "a\n" + long + "\nb\n", []string{"a", long[:jsonl.MaxLine], "b"}, false},
		{"at the cap", long[:jsonl.MaxLine] + "\nb\n", []string{long[:jsonl.MaxLine], "b"}, false},
		{"the cap and no end", long, []string{long[:jsonl.MaxLine]}, true},
		{"twice the cap", long + long + "\nb", []string{long[:jsonl.MaxLine], "b"}, true},
	} {
		for name, src := range map[string]io.Reader{"at once": strings.NewReader(tt.in),
			"halves": iotest.HalfReader(strings.NewReader(tt.in))} {
			rd := jsonl.NewReader(src)
			var got []string
			torn := false
			for rd.Next() {
				got = append(got, string(rd.Line()))
				torn = rd.Torn()
				if at := int(rd.Offset()); !strings.HasPrefix(tt.in[at:], string(rd.Line())) {
					t.Errorf("%s %s: line %d is not at offset %d", tt.name, name, rd.Number(), at)
				}
			}
			if err := rd.Err(); err != nil || torn != tt.torn || !equal(got, tt.want) {
				t.Errorf("%s, %s: got %d lines, torn %v, %v, want %d, %v", tt.name, name, len(got), torn, err, len(tt.want),
					tt.torn)
			}
		}
	}
}

// TestSpan reads values again from their location in the source.
func TestSpan(t *testing.T) {
	const in = "\n \t{\"a\":[1, {\"b\":\"two\"} ]}{\"glued\":3}\r\n{\"c\":4}"
	rd := jsonl.NewReader(strings.NewReader(in))
	var spans []jsonl.Span
	for rd.Next() {
		for line := rd.Line(); len(line) > 0; {
			c := line.Members()
			for c.Next() {
				spans = append(spans, rd.Span(c.Value()))
				for e := c.Value().Elements(); e.Next(); {
					spans = append(spans, rd.Span(e.Value()))
				}
			}
			line = c.Rest()
		}
	}
	want := []string{`[1, {"b":"two"} ]`, `1`, `{"b":"two"}`, `3`, `4`}
	var got []string
	for _, s := range spans {
		v, err := s.Read(strings.NewReader(in), make([]byte, 4))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(v))
	}
	if !equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v, err := (jsonl.Span{Offset: int64(len(in)) - 2, Len: 100}).Read(strings.NewReader(in), nil); string(v) != "4}" ||
		err != nil {
		t.Errorf("past the end: got %q, %v", v, err)
	}
}

func TestLinesWith(t *testing.T) {
	long := strings.Repeat("y", 300<<10)
	in := "mark 0\nmark 1\nno mark\n" + long + "\nmark 2\nmar\nmark 3"
	for name, src := range map[string]io.Reader{"at once": strings.NewReader(in),
		"bytes": iotest.OneByteReader(strings.NewReader(in)), "halves": iotest.HalfReader(strings.NewReader(in))} {
		var got []string
		both := struct {
			io.Reader
			io.ReaderAt
		}{src, strings.NewReader(in)}
		for at, line := range jsonl.LinesWith(both, []byte("mark"), 6) {
			if got = append(got, string(line)); in[at:at+6] != string(line) {
				t.Errorf("%s: %q is not at offset %d", name, line, at)
			}
		}
		if want := []string{"mark 1", "mark 2", "mark 3"}; !equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func equal(a, b []string) bool {
	return strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b)
}

func TestReaderError(t *testing.T) {
	broken := errors.New("disk on fire")
	rd := jsonl.NewReader(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken)))
	n := 0
	for rd.Next() {
		n++
	}
	if !errors.Is(rd.Err(), broken) || n != 2 {
		t.Errorf("got %d lines and %v, want 2 and %v", n, rd.Err(), broken)
	}
}

func TestValue(t *testing.T) {
	v := jsonl.Value(
		` {"type":"event","n":12,"f":1.5,"yes":true,"no":null,"path":{"to":{"it":"a\u00e9\n\ud83d\ude00"}},"list":[1,"two",{}]} `)
	if got := v.Get("path", "to", "it").Text(); got != "aé\n😀" {
		t.Errorf("Text = %q", got)
	}
	if !v.Get("type").Is("event") || v.Get("type").Is("even") || v.Get("absent").Is("") {
		t.Error("Is: wrong result")
	}
	if v.Get("n").Int() != 12 || v.Get("f").Float() != 1.5 || v.Get("f").Int() != 1 || v.Get("type").Int() != 0 {
		t.Error("wrong numbers")
	}
	if !v.Get("yes").True() || v.Get("no").True() || v.Get("no").Kind() != jsonl.Null ||
		v.Get("absent").Kind() != jsonl.Absent {
		t.Error("wrong literals")
	}
	n := 0
	for c := v.Get("list").Elements(); c.Next(); {
		n++
	}
	if n != 3 {
		t.Errorf("got %d elements, want 3", n)
	}
}

func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		in     string
		names  string
		closed bool
		rest   string
	}{
		{`{"a":1,"b":"torn`, "a b", false, ""},
		{`{"a":1,"b`, "a", false, ""},
		{`{"a":{"x":[1,2`, "a", false, ""},
		{`{"a":1}{"b":2}`, "a", true, `{"b":2}`},
		{`{"a":1} tail`, "a", true, "tail"},
		{`{"a" 1}`, "", false, ""},
		{`{]`, "", true, ""},
		{`plain`, "", false, ""},
	} {
		var names []string
		c := jsonl.Value(tt.in).Members()
		for c.Next() {
			names = append(names, c.Key())
		}
		if got := strings.Join(names, " "); got != tt.names || c.Closed() != tt.closed || string(c.Rest()) != tt.rest {
			t.Errorf("%s: got %q, closed %v, rest %q, want %q, %v, %q", tt.in, got, c.Closed(), c.Rest(), tt.names, tt.closed,
				tt.rest)
		}
	}
}

// FuzzValue compares a Value with encoding/json. For input that encoding/json
// accepts, both have the same members, strings and numbers; for other input, a
// Value must only terminate.
func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[true,null,"x\"\\y"],"c":{"d":"é\u00e9\ud83d\ude00\ud800"}}`,
		`[[[[{}]]],"]",1e9,-0.5]`, `{"\u0061":"\/"}`, "{\"a\":\"\xff\"}", `{"a":"torn`, `{"a":1}{"b":2}`, `"\ud83d"`,
		`{"a":"\ud83d\u0041"}`, ` 12 `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v := jsonl.Value(in)
		walk(v, 0)
		sameInside(t, v)
		if got, want := v.Leading("a"), firstNamed(v, "a"); got != nil && string(got) != string(want.Raw()) {
			t.Fatalf("%s: got %q leading, want %q", v, got, want)
		}
		if json.Valid(in) {
			same(t, v)
		}
	})
}

func walk(v jsonl.Value, depth int) {
	_, _, _, _ = v.Text(), v.Int(), v.Float(), v.Kind()
	if depth > 20 {
		return
	}
	for c := v.Members(); c.Next(); {
		_ = c.Key()
		walk(c.Value(), depth+1)
	}
	for c := v.Elements(); c.Next(); {
		walk(c.Value(), depth+1)
	}
}

// firstNamed returns the first member with a name, which is compared without decoding.
func firstNamed(v jsonl.Value, name string) jsonl.Value {
	for c := v.Members(); c.Next(); {
		if string(c.Name()) == name {
			return c.Value()
		}
	}
	return nil
}

// sameInside checks that the values of an object end where their members end.
func sameInside(t *testing.T, v jsonl.Value) {
	nested := v.Members()
	for c := v.Members(); c.Next(); {
		if !nested.Next() {
			t.Fatalf("%s: ended before %s", v, c.Name())
		}
		in := nested.Inside().Members()
		for in.Next() {
		}
		nested.Past(in)
		if got := nested.Value(); string(got) != string(c.Value()) {
			t.Fatalf("%s: got %s, want %s", v, got, c.Value())
		}
		sameInside(t, c.Value())
	}
}

func TestLeading(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"a","b":1}`:                       "a",
		`{"x":null,"y":"\"z","n":-1.5,"type":"a"}`: "",
		`{"x":null,"y":"\n ","n":-1.5,"type":"a"`:  "a",
		`{"x":"}{","type":"a b"}`:                  "a b",
		`{"x":{},"type":"a"}`:                      "",
		`{"x":[],"type":"a"}`:                      "",
		`{"x":,"type":"a"}`:                        "",
		`{"x" "y","type":"a"}`:                     "",
		`{"x":"y" "type":"a"}`:                     "",
		`{"x":1, "type":"a"}`:                      "",
		`{"type":null,"type":"a"}`:                 "",
		`{"type":"a\""}`:                           "",
		`{"type":"a`:                               "",
		`{"t\u0079pe":"a"}`:                        "",
		`[{"type":"a"}]`:                           "",
		``:                                         "",
	} {
		if got := jsonl.Value(in).Leading("type"); string(got) != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func same(t *testing.T, v jsonl.Value) {
	switch v.Kind() {
	case jsonl.Object:
		dec := json.NewDecoder(bytes.NewReader(v))
		dec.Token()
		c := v.Members()
		for c.Next() {
			key, err := dec.Token()
			var val json.RawMessage
			if err != nil || dec.Decode(&val) != nil || key != c.Key() || string(val) != string(c.Value()) {
				t.Fatalf("%s: member %q: %s, want %v: %s (%v)", v, c.Key(), c.Value(), key, val, err)
			}
			same(t, c.Value())
		}
		if dec.More() || !c.Closed() || len(c.Rest()) > 0 {
			t.Fatalf("%s: ended early, closed %v, rest %q", v, c.Closed(), c.Rest())
		}
		sameMembers(t, v)
	case jsonl.Array:
		var want []json.RawMessage
		if err := json.Unmarshal(v, &want); err != nil {
			t.Fatal(err)
		}
		n := 0
		for c := v.Elements(); c.Next(); n++ {
			if n == len(want) || string(c.Value()) != string(want[n]) {
				t.Fatalf("%s: element %d is %s", v, n, c.Value())
			}
			same(t, c.Value())
		}
		if n != len(want) {
			t.Fatalf("%s: got %d elements, want %d", v, n, len(want))
		}
	case jsonl.String:
		var want string
		if err := json.Unmarshal(v, &want); err != nil {
			t.Fatal(err)
		}
		if got := v.Text(); got != want || utf8.Valid(v) && !v.Is(want) {
			t.Fatalf("%s: got %q, want %q", v, got, want)
		}
	case jsonl.Number:
		var want float64
		if json.Unmarshal(v, &want) == nil && v.Float() != want {
			t.Fatalf("%s: got %v, want %v", v, v.Float(), want)
		}
	case jsonl.Absent, jsonl.Malformed:
		t.Fatalf("%q: kind %d of valid JSON", v, v.Kind())
	}
}

func TestNoAllocations(t *testing.T) {
	line := sample()
	if n := testing.AllocsPerRun(100, func() { visit(line) }); n != 0 {
		t.Errorf("got %v allocations a line, want 0", n)
	}
}

func sample() jsonl.Value {
	text := strings.Repeat("func main() {\\n\\tprintln(\\\"hello\\\")\\n}\\n", 60)
	return jsonl.Value(
		`{"timestamp":"2026-02-23T00:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"` + text + `"}}`)
}

func visit(line jsonl.Value) (n int) {
	for c := line.Members(); c.Next(); {
		if c.Is("payload") && c.Value().Get("type").Is("message") {
			n++
		}
	}
	return n
}

func BenchmarkWalk(b *testing.B) {
	line := sample()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		visit(line)
	}
}

func BenchmarkRead(b *testing.B) {
	file := bytes.Repeat(append(sample(), '\n'), 4000)
	b.SetBytes(int64(len(file)))
	rd := jsonl.NewReader(nil)
	for b.Loop() {
		rd.Reset(bytes.NewReader(file))
		for rd.Next() {
			visit(rd.Line())
		}
	}
}

func TestEach(t *testing.T) {
	const in = "{}\n\nno\n{}\nno\n{\"a\":"
	complete := func(v jsonl.Value) bool { return json.Valid(v) }
	r, err := jsonl.NewReader(strings.NewReader(in)).Each(t.Context(), func(v jsonl.Value) (bool, error) {
		return complete(v), nil
	})
	if err != nil || r.Lines != 6 || r.Bad != 2 || len(r.Warnings) != 2 ||
		!strings.Contains(r.Warnings[0], "line 6, the last") ||
		!strings.Contains(r.Warnings[1], "skipped 2 malformed lines (first: line 3)") {
		t.Errorf("got %+v, %v", r, err)
	}
	long := "{\"a\":\"" + strings.Repeat("x", jsonl.MaxLine) + "\"}\n{}\n"
	r, err = jsonl.NewReader(strings.NewReader(long)).Each(t.Context(), func(v jsonl.Value) (bool, error) {
		return complete(v), nil
	})
	if err != nil || r.Lines != 2 || r.Bad != 0 || len(r.Warnings) != 1 {
		t.Errorf("a line that is too long: got %+v, %v", r, err)
	}
	for _, end := range []error{jsonl.ErrStop, io.ErrClosedPipe} {
		n := 0
		r, err := jsonl.NewReader(strings.NewReader(in)).Each(t.Context(), func(jsonl.Value) (bool, error) {
			if n++; n == 2 {
				return true, end
			}
			return true, nil
		})
		if n != 2 || r.Lines != 1 || (err == nil) != (end == jsonl.ErrStop) {
			t.Errorf("%v: got %+v, %v after %d lines", end, r, err, n)
		}
	}
	r, err = jsonl.NewReader(strings.NewReader("no\nstop\nno\n")).Each(t.Context(), func(v jsonl.Value) (bool, error) {
		if string(v) == "stop" {
			return true, jsonl.ErrStop
		}
		return complete(v), nil
	})
	if err != nil || r.Lines != 1 || r.Bad != 1 || len(r.Warnings) != 1 {
		t.Errorf("a bad line before the end: got %+v, %v", r, err)
	}
	broken := io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if r, err := jsonl.NewReader(broken).Each(t.Context(),
		func(v jsonl.Value) (bool, error) { return true, nil }); err != nil || len(r.Warnings) != 1 {
		t.Errorf("a source that fails: got %+v, %v", r, err)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct{ in, plain, compact string }{
		{`"a\nb"`, "a\nb", `"a\nb"`}, {`{"a": [1, 2]}`, `{"a": [1, 2]}`, `{"a":[1,2]}`}, {"", "", ""},
		{`{"a": `, `{"a": `, `{"a": `}, {"[\"\xff\"]", "[\"\xff\"]", "[\"\uFFFD\"]"},
	} {
		if v := jsonl.Value(tt.in); v.Plain() != tt.plain || v.Compact() != tt.compact {
			t.Errorf("%s: got %q and %q, want %q and %q", tt.in, v.Plain(), v.Compact(), tt.plain, tt.compact)
		}
	}
	if got := jsonl.Value(`"2026-02-23T01:00:04.5+01:00"`).Time().UTC().Format("15:04:05.9"); got != "00:00:04.5" {
		t.Errorf("got %s", got)
	}
	for _, none := range []string{"", "7", `"yesterday"`, `{}`} {
		if at := jsonl.Value(none).Time(); !at.IsZero() {
			t.Errorf("%s: got %v, want no time", none, at)
		}
	}
}

// sameMembers compares Members with Get for each member of each member of v.
func sameMembers(t *testing.T, v jsonl.Value) {
	var m jsonl.Members
	c := v.Members()
	for c.Next() {
		key := string(c.Name())
		m.Fill(&c)
		seen := map[string]bool{}
		for in := c.Value().Members(); in.Next() && len(seen) < 64; {
			if name := string(in.Name()); !seen[name] {
				seen[name] = true
				if got := m.Get(name); string(got) != string(in.Value()) {
					t.Fatalf("%s: %s.%s is %s, want %s", v, key, name, got, in.Value())
				}
			}
		}
		if len(seen) == 0 && len(m.Get("")) > 0 {
			t.Fatalf("%s: %s has members", v, key)
		}
	}
	if !c.Closed() || len(c.Rest()) > 0 {
		t.Fatalf("%s: ended early, closed %v, rest %q", v, c.Closed(), c.Rest())
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]int64{"7": 7, "-7": 0, "1.9": 1, "9e300": 1 << 48, `"7"`: 0, "": 0} {
		if got := jsonl.Value(in).Count(); got != want {
			t.Errorf("%s: got %d, want %d", in, got, want)
		}
	}
}

// TestStamp keeps the last time stamp that is one.
func TestStamp(t *testing.T) {
	var s jsonl.Stamp
	if got := s.Time(); !got.IsZero() {
		t.Errorf("got %v from nothing", got)
	}
	for _, v := range []string{`"2026-01-01T00:00:00Z"`, `"2026-01-02T00:00:00Z"`, "",
		`"` + strings.Repeat("2026", 20) + `"`} {
		s.Set(jsonl.Value(v))
	}
	if got := s.Time(); got.Day() != 2 {
		t.Errorf("got %v, want the second", got)
	}
}

// TestEachStops cancels the context within a file: no further line is passed.
func TestEachStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := jsonl.NewReader(strings.NewReader(strings.Repeat("{}\n", 1000))).Each(ctx, func(jsonl.Value) (bool, error) {
		if n++; n == 3 {
			cancel()
		}
		return true, nil
	})
	if n != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d lines, %v, want 3 and that the context was canceled", n, err)
	}
}
