package handoff_test

import (
	"encoding/json"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestEncodeJSON checks that text of others can't control a terminal that JSON is
// printed to.
func TestEncodeJSON(t *testing.T) {
	in := map[string]string{"k": "<a> \x1b[2J \u009b2J \x7f \u202e ä"}
	const want = `"<a> \u001b[2J \u009b2J \u007f \u202e ä"`
	for _, encode := range []func(any) ([]byte, error){handoff.EncodeJSON, handoff.EncodeJSONIndent} {
		b, err := encode(in)
		var out map[string]json.RawMessage
		var back map[string]string
		if err != nil || json.Unmarshal(b, &out) != nil || string(out["k"]) != want || json.Unmarshal(b, &back) != nil ||
			back["k"] != in["k"] {
			t.Errorf("got %s, %v, want %s", b, err, want)
		}
	}
}
