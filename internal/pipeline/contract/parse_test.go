package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/jsonschema"
)

// duplicates returns the pointers of duplicate keys, found with the tokens of
// encoding/json.
func duplicates(text string) []string {
	type level struct {
		keys  map[string]bool // nil in a list
		key   string
		want  bool // a key comes next
		index int
	}
	var open []level
	var found []string
	pointer := func() string {
		var path []string
		for _, l := range open {
			if l.keys == nil {
				l.key = strconv.Itoa(l.index)
			}
			path = append(path, l.key)
		}
		return jsonschema.Pointer(path...)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return found
		}
		if end := token == json.Delim('}') || token == json.Delim(']'); end {
			open = open[:len(open)-1]
		} else if len(open) > 0 && open[len(open)-1].want {
			top := &open[len(open)-1]
			top.key, top.want = token.(string), false
			if top.keys[top.key] {
				found = append(found, pointer())
			}
			top.keys[top.key] = true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}, want: true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		}
		if len(open) > 0 {
			top := &open[len(open)-1]
			top.want, top.index = top.keys != nil, top.index+1
		}
	}
}

// withZeros replaces the numbers that parse replaces.
func withZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withZeros(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withZeros(v[i])
		}
	case json.Number:
		if !computable(string(v)) {
			return json.Number("0")
		}
	}
	return v
}

// FuzzParse compares decode with encoding/json.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "null", " true ", "-0", "01", "1.", ".5", "1e", "1E+2", "-", "1e999", "\"a\\u00e9\\ud800\"", "\"\t\"", "\"\\x\"",
		"\"", "{", "{}", "{\"a\":1,\"a\":[2,{\"b\":0,\"b\":1}]}",
		"[1,]", "[,]", "[[],{},[{}]]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "[1 2]", "1 2", "nul", "truefalse",
		"\u00a0 1", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), strings.Repeat("[", 10_000) + "1" +
			strings.Repeat("]", 10_000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip() // decode rejects it
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		var want any
		err := d.Decode(&want)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("trailing data")
			}
		}
		got, found := decode([]byte(text))
		if rejected := len(found) == 1 && strings.HasPrefix(found[0].Text, "invalid JSON: "); rejected != (err != nil) {
			t.Fatalf("%.200q: decode reports %v, encoding/json %v", text, found, err)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, withZeros(want)) {
			t.Fatalf("%.200q: got %v, want %v", text, got, want)
		}
		var twice []string
		for _, p := range found {
			if p.Text == "is a duplicate key" {
				twice = append(twice, p.Pointer)
			}
		}
		if want := duplicates(text); !slices.Equal(twice, want) {
			t.Fatalf("%.200q: duplicate keys: got %q, want %q", text, twice, want)
		}
	})
}
