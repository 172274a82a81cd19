package setup

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// TestEditKeepsTheRest checks that an entry that is added to a random document and
// removed again leaves every other value, comment and indentation.
func TestEditKeepsTheRest(t *testing.T) {
	change := Change{Member: []string{"mcpServers", "handoff"}, Value: map[string]any{"command": "handoff", "args": []string{"mcp"}}}
	element := Change{Element: []string{"hooks", "Stop"}, Value: map[string]any{"command": "handoff hook"}}
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "mcpServers", "hooks", "z"}), 0, 5, rapid.ID).Draw(t, "names") {
			value[name] = map[string]any{"x": rapid.String().Draw(t, "text"), "Stop": []any{1.5, "s"}}
		}
		content, err := json.MarshalIndent(value, "", rapid.SampledFrom([]string{"", " ", "\t", "     "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "windows") {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
		}
		content = append([]byte("// a comment\n"), content...)
		changed := content
		for _, c := range []Change{change, element, change, element} {
			if changed, err = c.apply(changed); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Contains(changed, []byte("// a comment\n")) || bytes.Count(changed, []byte("handoff hook")) != 1 {
			t.Fatalf("%s", changed)
		}
		for _, c := range []Change{change, element} {
			var removed bool
			if changed, removed, err = c.remove(changed); err != nil || !removed {
				t.Fatalf("%t, %v", removed, err)
			}
		}
		if got, want := decoded(t, changed), decoded(t, content); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, want %s", changed, content)
		}
	})
}

// decoded returns a document without members that are empty objects or lists.
func decoded(t *rapid.T, data []byte) map[string]any {
	standard, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	var all map[string]any
	if err := json.Unmarshal(standard, &all); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	for name, v := range all {
		if m, ok := v.(map[string]any); ok {
			if list, ok := m["Stop"].([]any); ok && len(list) == 0 {
				delete(m, "Stop")
			}
			if len(m) == 0 {
				delete(all, name)
			}
		}
	}
	return all
}
