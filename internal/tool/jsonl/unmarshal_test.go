package jsonl_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// TestUnmarshal decodes objects in the order of the fields and in others, and texts that are none,
// as encoding/json does.
func TestUnmarshal(t *testing.T) {
	type inner struct {
		A string
		B int `json:"b,omitempty"`
	}
	type object struct {
		ID     string `json:"-"`
		Name   string `json:"name"`
		Plain  string
		hidden string
		In     inner                      `json:"in,omitzero"`
		To     *inner                     `json:"to,omitempty"`
		List   []inner                    `json:"list,omitempty"`
		Words  []string                   `json:"words,omitempty"`
		Raw    json.RawMessage            `json:"raw,omitempty"`
		More   map[string]json.RawMessage `json:"more,omitempty"`
		At     time.Time                  `json:"at,omitzero"`
		Is     bool                       `json:"is,omitempty"`
	}
	for _, text := range []string{
		`{}`, `{"name":"a","in":{"b":2},"to":{"b":3},"list":[{"b":1},{}],"words":["x","\u0041\n"],"raw":{"x":[1]},` +
			`"more":{"k":1,"l":"m"},"at":"2026-11-21T03:00:00.5Z","is":true}`,
		`{"is":true,"name":"late"}`, `{"name":"a","name":"b"}`, `{"NAME":"a"}`, `{"name":null}`, `{"":"a"}`, `{"-":"a"}`,
		`{"name":"a","-":"b"}`, `{"hidden":"a","Plain":"b"}`, `{"name":1}`, `{"more":{"k":1},"more":{"l":2}}`,
		`{"list":[{"b":"no"}]}`, `{"unknown":1,"name":"a"}`, `null`, `[]`, `"a"`, ``, `{`, `{"name":"a"} x`, "{\"name\":\"\xff\"}",
	} {
		var got, want object
		err, wanted := jsonl.Unmarshal(text, &got), json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wanted == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v and %v, want %+v and %v", text, got, err, want, wanted)
		}
	}
	_ = object{}.hidden
}
