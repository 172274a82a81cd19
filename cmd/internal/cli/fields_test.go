package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"testing"
)

type testItem struct {
	ID   string `json:"id"`
	Size int    `json:"size,omitempty"`
}

type testAnswer struct {
	Items []testItem `json:"items"`
	More  string     `json:"more,omitempty"`
	Count int        `json:"count"`
}

// TestJSONItems checks that an answer whose items are printed one by one is the
// same text as one that is printed at once.
func TestJSONItems(t *testing.T) {
	for _, items := range [][]testItem{{}, {{"a", 1}}, {{"a\nb", 1}, {"[]", 0}, {"c", 3}}} {
		for _, fields := range [][]string{nil, {"id"}} {
			var want, got bytes.Buffer
			a := &App{Out: &want, AsJSON: true, selecting: fields != nil, fields: fields}
			if err := a.JSONList("items", testAnswer{items, "c1", 7}); err != nil {
				t.Fatal(err)
			}
			a.Out = &got
			if err := JSONItems(a, "items", each(items), func() any { return testAnswer{[]testItem{}, "c1", 7} }); err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, got.Bytes(), want.Bytes()) || fields == nil && got.String() != want.String() {
				t.Errorf("%d items, fields %q: got\n%s\nwant\n%s", len(items), fields, got.Bytes(), want.Bytes())
			}
		}
	}
}

// TestJSONItemsFailed checks that nothing is printed before the first item.
func TestJSONItemsFailed(t *testing.T) {
	var out bytes.Buffer
	failed := errors.New("failed")
	items := func(yield func(testItem, error) bool) { yield(testItem{}, failed) }
	if err := JSONItems(&App{Out: &out}, "items", items, func() any { return testAnswer{} }); !errors.Is(err, failed) ||
		out.Len() > 0 {
		t.Errorf("JSONItems = %v and prints %q, want the error alone", err, out.Bytes())
	}
}

func each(items []testItem) iter.Seq2[testItem, error] {
	return func(yield func(testItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}
