package schema

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

type inner struct {
	Shadowed int    `json:"shadowed"`
	Promoted string `json:"promoted,omitempty"`
}

type outer struct {
	Name string `json:"name"`
	inner
	Shadowed *string         `json:"shadowed"`
	Raw      json.RawMessage `json:"raw,omitempty"`
	Bytes    []byte          `json:"bytes"`
	At       time.Time       `json:"at,omitzero"`
	Nested   map[string]leaf `json:"nested"`
	Children []*outer        `json:"children,omitempty"`
	Hidden   string          `json:"-"`
	Numbers  [2]float64      `json:"numbers"`
	Any      any             `json:"any"`
	Optional *leaf           `json:"optional,omitempty"`
	Required *leaf           `json:"required"`
}

type leaf struct{ Untagged bool }

type parts struct{}

func (parts) JSONParts() []any { return []any{leaf{}, inner{}} }

func TestAdd(t *testing.T) {
	s := NewSet()
	for _, v := range []any{outer{}, parts{}} {
		s.Add(v)
	}
	got, err := handoff.EncodeJSON(s.Defs)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"leaf":{"type":"object","properties":{"Untagged":{"type":"boolean"}},"required":["Untagged"]},` +
		`"outer":{"type":"object","properties":{"promoted":{"type":"string"},"name":{"type":"string"},` +
		`"shadowed":{"anyOf":[{"type":"string"},{"type":"null"}]},"raw":true,` +
		`"bytes":{"type":"string","contentEncoding":"base64"},"at":{"type":"string","format":"date-time"},` +
		`"nested":{"type":"object","additionalProperties":{"$ref":"#/$defs/leaf"}},` +
		`"children":{"type":"array","items":{"$ref":"#/$defs/outer"}},` +
		`"numbers":{"type":"array","items":{"type":"number"}},"any":true,"optional":{"$ref":"#/$defs/leaf"},` +
		`"required":{"anyOf":[{"$ref":"#/$defs/leaf"},{"type":"null"}]}},` +
		`"required":["name","shadowed","bytes","nested","numbers","any","required"]},` +
		`"parts":{"type":"object","properties":{"Untagged":{"type":"boolean"},"shadowed":{"type":"integer"},` +
		`"promoted":{"type":"string"}},"required":["Untagged","shadowed"]}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNames gives two types the same name.
func TestNames(t *testing.T) {
	s := NewSet()
	s.Add(inner{})
	defer func() {
		if recover() == nil {
			t.Error("two types with one name are accepted")
		}
	}()
	type inner struct{}
	s.Add(inner{})
}
