package setup

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEditKeepsTheRest checks that entries that are added to a random document and
// removed again leave every byte, and that a strict document stays strict.
func TestEditKeepsTheRest(t *testing.T) {
	changes := []Change{
		{Member: []string{"mcpServers", entry}, Value: map[string]any{"command": "/x/handoff", "args": []string{"mcp"}}},
		{Element: []string{"hooks", "Stop"}, Value: map[string]any{"hooks": []any{map[string]any{"command": "/x/handoff hook claude"}}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "mcpServers", "hooks", "z"}), 0, 5, rapid.ID).Draw(t, "names") {
			value[name] = map[string]any{"x": rapid.String().Draw(t, "text"), "Stop": []any{1.5, "s"}}
		}
		content, err := json.Marshal(value)
		if rapid.Bool().Draw(t, "lines") {
			content, err = json.MarshalIndent(value, "", rapid.SampledFrom([]string{"", " ", "\t", "     "}).Draw(t, "indent"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "comments") {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte(" // c\n/* d */ "))
		}
		if rapid.Bool().Draw(t, "windows") {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
		}
		if rapid.Bool().Draw(t, "mark") {
			content = append(bytes.Clone(byteOrderMark), content...)
		}
		e, err := newEditor(jsonFormat{}, content)
		if err != nil {
			t.Fatal(err)
		}
		before := e.value
		for range 2 {
			for _, c := range changes {
				if _, err := c.apply(e, nil); err != nil {
					t.Fatalf("%v: %s", err, e.text)
				}
			}
		}
		if err := e.check(); err != nil || bytes.Count(e.text, []byte("handoff hook")) != 1 {
			t.Fatalf("%v: %s", err, e.text)
		}
		if bytes.Contains(content, []byte("\r\n")) && bytes.Contains(bytes.ReplaceAll(e.text, []byte("\r\n"), nil), []byte("\n")) {
			t.Fatalf("mixed line ends: %q", e.text)
		}
		if plain := bytes.TrimPrefix(content, byteOrderMark); json.Valid(plain) && !json.Valid(bytes.TrimPrefix(e.text, byteOrderMark)) {
			t.Fatalf("%s was strict and became %s", content, e.text)
		}
		for _, c := range changes {
			if err := c.takeBack(e, before); err != nil {
				t.Fatalf("%v: %s", err, e.text)
			}
		}
		if err := e.check(); err != nil || squeeze(e.text) != squeeze(content) {
			t.Fatalf("%v: got %q, want %q", err, e.text, content)
		}
	})
}

// squeeze returns a document without the spaces in empty objects, which are laid
// out anew.
func squeeze(text []byte) string {
	return strings.NewReplacer("{\r\n}", "{}", "{\n}", "{}").Replace(string(text))
}
