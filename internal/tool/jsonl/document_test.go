package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// readDocument returns what a Document passes on, one string for each call.
func readDocument(t testing.TB, src io.Reader) (got []string, spans []jsonl.Span, complete bool, err error) {
	t.Helper()
	d := jsonl.Document{List: "list"}
	d.Member = func(name string, v jsonl.Value) { got = append(got, name+"="+string(v)) }
	d.Element = func(v jsonl.Value, e jsonl.Element) error {
		got, spans = append(got, fmt.Sprint(e.N, " ", string(v))), append(spans, e.Span)
		return nil
	}
	complete, err = d.Read(t.Context(), src)
	return got, spans, complete, err
}

func TestDocument(t *testing.T) {
	for _, tt := range []struct {
		in       string
		want     string
		complete bool
	}{
		{`{"a":1,"list":[{"b":[1,"]"]}, "two" ,3],"c":{"d":"}"}}`, `a=1|1 {"b":[1,"]"]}|2 "two"|3 3|c={"d":"}"}`, true},
		{"\xef\xbb\xbf {\n}", "", true},
		{`{"list":[],"list":[1]}`, "list=[1]", true},
		{`{"list":{"x":1}}`, `list={"x":1}`, true},
		{`{"a":"\\\"\u00e9","list":["\\"]}`, `a="\\\"\u00e9"|1 "\\"`, true},
		{`{"list":[1,{"a":"torn`, `1 1|2 {"a":"torn`, false},
		{`{"list":[1,2`, "1 1|2 2", false},
		{`{"list":[1],"b`, "1 1", false},
		{`{"a":tru`, "a=tru", false},
		{`{"a" 1}`, "", false},
		{`{"a":,"b":1}`, "", false},
		{`[1]`, "", false},
		{"", "", false},
	} {
		for name, src := range map[string]io.Reader{"at once": strings.NewReader(tt.in),
			"bytes": iotest.OneByteReader(strings.NewReader(tt.in))} {
			if name == "bytes" && strings.HasPrefix(tt.in, "\xef") {
				continue // the mark is expected in the first read
			}
			got, spans, complete, err := readDocument(t, src)
			if strings.Join(got, "|") != tt.want || complete != tt.complete || err != nil {
				t.Errorf("%s, %s: got %q, complete %v, %v, want %q, %v", tt.in, name, got, complete, err, tt.want, tt.complete)
			}
			for i, s := range spans {
				v, err := s.Read(strings.NewReader(tt.in), nil)
				if err != nil || !slices.Contains(got, fmt.Sprint(i+1, " ", string(v))) {
					t.Errorf("%s: element %d at %+v is %s, %v", tt.in, i+1, s, v, err)
				}
			}
		}
	}
}

// TestDocumentShort checks that of a value that is longer than MaxLine everything
// but its long strings remains, also when it is read again from its span.
func TestDocumentShort(t *testing.T) {
	long := strings.Repeat(`ab\n\u00e9`, jsonl.MaxLine/4)
	in := `{"list":[{"role":"user","text":"` + long + `","more":["` + long +
		`"],"model":"m","tokens":{"input":5}},7],"end":1}`
	var got, again jsonl.Value
	d := jsonl.Document{List: "list", Member: func(string, jsonl.Value) {}}
	d.Element = func(v jsonl.Value, e jsonl.Element) (err error) {
		if e.N == 1 {
			got = bytes.Clone(v)
			again, err = e.Span.Read(strings.NewReader(in), nil)
		}
		if e.Short != (e.N == 1) {
			t.Errorf("element %d: shortened is %v", e.N, e.Short)
		}
		return err
	}
	if complete, err := d.Read(t.Context(), strings.NewReader(in)); !complete || err != nil {
		t.Fatal(complete, err)
	}
	if !bytes.Equal(got, again) || !json.Valid(got) || len(got) > 2*jsonl.MaxLine || len(got) < jsonl.MaxLine {
		t.Errorf("got %d bytes, %d at the span, valid %v", len(got), len(again), json.Valid(got))
	}
	if !got.Get("role").Is("user") || !got.Get("model").Is("m") || got.Get("tokens", "input").Int() != 5 ||
		!strings.HasPrefix(got.Get("text").Text(), "ab\né") {
		t.Errorf("got %.100s … %s", got, got[len(got)-100:])
	}
	// The structure itself is too long.
	in = `{"list":[[` + strings.Repeat("1,", 2*jsonl.MaxLine) + `1]],"end":1}`
	_, spans, complete, err := readDocument(t, strings.NewReader(in))
	if !complete || err != nil || spans[0].Len != 4*jsonl.MaxLine+3 {
		t.Errorf("got %+v, complete %v, %v", spans, complete, err)
	}
}

func TestDocumentStops(t *testing.T) {
	enough := errors.New("enough")
	d := jsonl.Document{List: "list", Member: func(string, jsonl.Value) {},
		Element: func(jsonl.Value, jsonl.Element) error { return enough }}
	if complete, err := d.Read(t.Context(), strings.NewReader(`{"list":[1,2]}`)); complete || !errors.Is(err, enough) {
		t.Errorf("got %v, %v, want %v", complete, err, enough)
	}
	if complete, err := d.Read(t.Context(), iotest.ErrReader(io.ErrClosedPipe)); complete ||
		!errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, %v, want %v", complete, err, io.ErrClosedPipe)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if complete, err := d.Read(ctx, strings.NewReader(`{"list":[1,2]}`)); complete || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want canceled", complete, err)
	}
}

// FuzzDocument compares a Document with the methods of Value.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{"a":1,"list":[1,{"b":[]},"\"x"],"c":null}`, `{"list":[1,`, `{"list":"x"}`, `{"list":[}`,
		`{"a":"\ud83d"}`, `{"a":{"b":[1]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, _, complete, err := readDocument(t, bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(in) || jsonl.Value(in).Kind() != jsonl.Object {
			return
		}
		var want []string
		listed := false
		for c := jsonl.Value(in).Members(); c.Next(); {
			if listed || !c.Is("list") || c.Value().Kind() != jsonl.Array {
				want = append(want, c.Key()+"="+string(c.Value()))
				continue
			}
			listed = true
			n := 0
			for e := c.Value().Elements(); e.Next(); {
				n++
				want = append(want, fmt.Sprint(n, " ", string(e.Value())))
			}
		}
		if !complete || !slices.Equal(got, want) {
			t.Fatalf("%s: got %q, complete %v, want %q", in, got, complete, want)
		}
	})
}

// TestByteOrderMark reads the first line after a mark, and its location.
func TestByteOrderMark(t *testing.T) {
	const in = "\xef\xbb\xbf {\"a\":1}\n{\"b\":2}"
	rd := jsonl.NewReader(strings.NewReader(in))
	var got []string
	for rd.Next() {
		c := rd.Line().Members()
		c.Next()
		v, err := rd.Span(c.Value()).Read(strings.NewReader(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(rd.Line())+" "+string(v))
	}
	if !equal(got, []string{`{"a":1} 1`, `{"b":2} 2`}) {
		t.Errorf("got %q", got)
	}
}

func TestValidCounts(t *testing.T) {
	for in, want := range map[string]bool{
		`{"input":1,"cost":0.5,"model":"m","none":null,"list":[1,{"n":2}]}`: true,
		`{"input":1e300}`:                      false,
		`{"input":9223372036854775808}`:        false,
		`{"input":-1}`:                         false,
		`{"input":"1000"}`:                     false,
		`{"input":1,"tier":"","id":"7a"}`:      true,
		`{"cache":{"read":[-1]}}`:              false,
		strings.Repeat("[", 1<<20):             true,
		`{"a":[[[[[[[[[[[[[[-1]]]]]]]]]]]]]]}`: true, // deeper than any usage
		"":                                     true,
	} {
		if got := jsonl.Value(in).ValidCounts(); got != want {
			t.Errorf("%.40s: got %v, want %v", in, got, want)
		}
	}
}
