package jsonl

import (
	"slices"
	"testing"
)

func TestFieldNames(t *testing.T) {
	type Inner struct {
		ID     string `json:"id"`
		Hidden string `json:"title"`
		Left   string `json:"-"`
		Seq    int
	}
	type outer struct {
		Inner
		Hidden string `json:"name,omitempty"`
	}
	got := FieldNames(outer{}, struct {
		Kind string `json:"kind"`
	}{})
	if want := []string{"id", "name", "kind"}; !slices.Equal(got, want) {
		t.Errorf("FieldNames = %q, want %q", got, want)
	}
}

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		names    []string
	}{
		{`{"a":1,"b":{"c":[2, 3]},"d":"<x>"}`, `{"d":"<x>","b":{"c":[2, 3]}}`, []string{"d", "b", "none", "d"}},
		{`{}`, `{}`, []string{"a"}},
		{`{"a":1}`, `{}`, nil},
	} {
		got, err := Select([]byte(tt.in), tt.names)
		if err != nil || string(got) != tt.want {
			t.Errorf("Select(%s, %q) = %s, %v, want %s", tt.in, tt.names, got, err, tt.want)
		}
	}
	if _, err := Select([]byte(`[]`), nil); err == nil {
		t.Error("Select of a list succeeds")
	}
}

func TestWithFields(t *testing.T) {
	for _, test := range []struct{ object, want string }{
		{`{"a":1,"b":[{}, "}"]}`, `{"a":1,"b":[{}, "}"],"path":"p"}`},
		{`{"path":{"path":1},"a":null}`, `{"a":null,"path":"p"}`},
		{`{"p\u0061th":1}`, `{"path":"p"}`},
		{`{}`, `{"path":"p"}`},
	} {
		got, err := WithFields([]byte(test.object), map[string]string{"path": "p"})
		if err != nil || string(got) != test.want {
			t.Errorf("WithFields(%s) = %s, %v, want %s", test.object, got, err, test.want)
		}
	}
	if got, err := WithFields([]byte(`{"a":1}`), struct{}{}); err != nil || string(got) != `{"a":1}` {
		t.Errorf("with no field: %s, %v", got, err)
	}
	for _, bad := range []string{``, `null`, `[1]`, `{"a":`} {
		if got, err := WithFields([]byte(bad), struct{}{}); err == nil {
			t.Errorf("WithFields(%s) = %s, want an error", bad, got)
		}
	}
}
