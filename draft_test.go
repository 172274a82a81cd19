package handoff_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// TestInvalidUTF8 holds that invalid UTF-8 is refused: JSON would store other
// bytes.
func TestInvalidUTF8(t *testing.T) {
	const text = "a\xffb"
	for name, d := range map[string]handoff.Draft{
		"title":      {Title: text},
		"summary":    {Summary: text},
		"kind":       {Kind: text},
		"media type": {MediaType: text},
		"tag":        {Tags: []string{text}},
		"key":        {Key: text},
		"metadata":   {Metadata: map[string]any{"of": map[string]any{"list": []string{text}}}},
		"name in it": {Metadata: map[string]any{text: 1}},
	} {
		h, _ := newHub(t, nil)
		d.Channel, d.Path = "design", "a.md"
		if p, err := h.Publish(t.Context(), d); !errors.Is(err, handoff.Invalid) {
			t.Errorf("a publish with the %s %q = %v, %v, want kind Invalid", name, text, p.ID, err)
		}
	}
	for name, p := range map[string]handoff.Producer{
		"agent":     {Agent: text},
		"session":   {Session: text},
		"other id":  {IDs: map[string]string{"turn": text}},
		"slot":      {IDs: map[string]string{text: "7"}},
		"model":     {Model: handoff.Model{ID: text}},
		"observed":  {Observed: []handoff.Observation{{IDs: map[string]string{"session": text}}}},
		"tool call": {ToolCallID: text},
	} {
		h, _ := newHub(t, nil)
		h = h.As(p)
		if p, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"}); !errors.Is(err,
			handoff.Invalid) {
			t.Errorf("a publish by a producer whose %s is %q = %v, %v, want kind Invalid", name, text, p.ID, err)
		}
		if _, _, err := h.Record(t.Context(), &handoff.WorkStarted{WorkID: "w"}); !errors.Is(err, handoff.Invalid) {
			t.Errorf("a record by a producer whose %s is %q = %v, want kind Invalid", name, text, err)
		}
	}
}

// TestInvalidUTF8InFacts is TestInvalidUTF8 for facts with pointers, lists and JSON.
func TestInvalidUTF8InFacts(t *testing.T) {
	for _, text := range []string{"a\xffb", "a\ufffdb"} {
		raw := json.RawMessage(`"` + text + `"`)
		for name, f := range map[string]handoff.Fact{
			"pointer": &handoff.SessionNoted{SessionID: "s", Name: &text},
			"list":    &handoff.SessionNoted{SessionID: "s", RemovedTags: []string{text}},
			"JSON":    &handoff.SessionNoted{SessionID: "s", Metadata: map[string]json.RawMessage{"k": raw}},
			"key":     &handoff.SessionNoted{SessionID: "s", Metadata: map[string]json.RawMessage{text: json.RawMessage(`1`)}},
			"struct":  &handoff.SessionOpened{SessionID: "s", Agent: handoff.SessionAgent{Title: text}},
		} {
			h, _ := newHub(t, nil)
			_, _, err := h.Record(t.Context(), f)
			if valid := utf8.ValidString(text); valid != (err == nil) || err != nil && !errors.Is(err, handoff.Invalid) {
				t.Errorf("a record with the %s %q = %v", name, text, err)
			}
		}
	}
}
