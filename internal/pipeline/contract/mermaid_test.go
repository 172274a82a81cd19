package contract_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// TestMermaid draws the definition with everything that one can say, the built-in pipeline, and
// one whose texts have markup.
func TestMermaid(t *testing.T) {
	all, err := contract.Parse(contract.Definition, []byte(ownYAML), ownFiles)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all[""].Mermaid(), `flowchart LR
  s0["design<br/>by architect<br/>docs/design.md<br/>needs an approval"]
  s1["build<br/>by builder<br/>fix.diff<br/>needs go test ./...<br/>needs sh -c a b<br/>needs make"]
  human(["human"])
  s2["notes<br/>by human<br/>notes/**/*.md<br/>needs an approval"]
  style s2 stroke-dasharray: 4 3
  s0 --> s1
  s1 -. "FAIL" .-> s0
  s1 -. "blocked" .-> human
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := builtin().Mermaid(); !strings.Contains(got, `s2 -. "classification fix_target, inline_triage true, verdict FAIL" .-> s1`) {
		t.Errorf("got\n%s", got)
	}
	bad, err := contract.Parse("p.yaml", []byte(`stages: [{id: a, by: '"]<b>', writes: "x`+"\u202e"+`<script>", on: [{when: {'"': '-->'}, ask: '"`+"`"+`'}]}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(bad[""].Mermaid(), "<br/>", "")
	if strings.ContainsAny(got, "<`\u202e") || strings.Count(got, `"`) != 2*3 {
		t.Errorf("got\n%s", got)
	}
}
