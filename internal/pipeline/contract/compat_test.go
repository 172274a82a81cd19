package contract_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// TestCompat checks the texts and exit codes of schema.py.
func TestCompat(t *testing.T) {
	p := builtin()
	type tt struct {
		file, in string
		out, err string
		code     int
	}
	tests := []tt{
		{"x/plan.json", `{"affected_files":1,"steps":"x","acceptance_mapping":null}`, "OK\n", "", 0},
		{"plan.json", `{"tier_used":"turbo","affected_files":1,"steps":1,"acceptance_mapping":1}`, "OK\n", "", 0},
		{"gone/plan.json", "", "", "File not found: gone/plan.json\n", 1},
		{"lint-result.json", "{}", "", "Unknown artifact: lint-result.json\n", 1},
		{"plan.json.example", "{}", "", "Unknown artifact: plan.json.example\n", 1},
		{"a/state.yaml", "{}", "", "Unknown artifact: state.yaml\n", 1},
		{"plan", "{}", "", "Unknown artifact: plan\n", 1},
		{"plan.json", "[]", "", "Artifact root must be an object, got list\n", 1},
		{"plan.json", "null", "", "Artifact root must be an object, got NoneType\n", 1},
		{"plan.json", "1", "", "Artifact root must be an object, got int\n", 1},
		{"plan.json", "1.5", "", "Artifact root must be an object, got float\n", 1},
		{"plan.json", "true", "", "Artifact root must be an object, got bool\n", 1},
		{"plan.json", `"s"`, "", "Artifact root must be an object, got str\n", 1},
		{"plan.json", `{"affected_files":NaN,"steps":[Infinity,"\" NaN"],"acceptance_mapping":-Infinity}`, "OK\n", "", 0},
		{"plan.json", "NaN", "", "Artifact root must be an object, got float\n", 1},
		{"plan.json", "nan", "", "Invalid JSON: unexpected character, at line 1 column 2\n", 1},
		{"plan.json", "{", "", "Invalid JSON: unexpected end of document\n", 1},
		{"worker-result-fast.json", `{"status":null,"summary":0}`, "",
			"Missing required key: files_changed\nMissing required key: blockers\n", 1},
		{"test-result-fail.json", `{}`, "", "Missing required key: verdict\nMissing required key: phase_1\n", 1},
		{"test-result-pass.json", `{"verdict":"","phase_1":[]}`, "OK\n", "", 0},
		{"debug-diagnosis.json", `{}`, "", "Missing required key: failure_source\nMissing required key: " +
			"failure_description\nMissing required key: root_cause\n" +
			"Missing required key: root_cause_file\nMissing required key: root_cause_line\nMissing required key: " +
			"classification\n", 1},
	}
	for _, s := range p.Stages {
		tests = append(tests, tt{s.Artifact, minimal[s.Name], "OK\n", "", 0})
	}
	for _, tt := range tests {
		read := func(name string) ([]byte, error) {
			if strings.HasPrefix(name, "gone/") {
				return nil, handoff.NotFound
			}
			return []byte(tt.in), nil
		}
		got := p.Compat(contract.Practitioner, read, tt.file)
		if want := (pipeline.CompatAnswer{Out: tt.out, Err: tt.err, Code: tt.code}); got != want {
			t.Errorf("%s %s:\ngot  %+v\nwant %+v", tt.file, tt.in, got, want)
		}
	}
	for _, files := range [][]string{nil, {"a", "b"}} {
		want := pipeline.CompatAnswer{Err: "Usage: python schema.py --validate <path-to-artifact.json>\n", Code: 2}
		if got := p.Compat(contract.Practitioner, nil, files...); got != want {
			t.Errorf("%v: got %+v, want %+v", files, got, want)
		}
	}
}

func TestCompatOfExperts(t *testing.T) {
	p := builtin()
	for _, tt := range []struct{ fields, want string }{
		{`"tier_used":"fast"`, ""},
		{`"tier_used":"turbo"`, "tier_used must be one of ['fast', 'high', 'standard'], got 'turbo'\n"},
		{`"tier_used":"it's"`, "tier_used must be one of ['fast', 'high', 'standard'], got \"it's\"\n"},
		{`"tier_used":NaN`, "tier_used must be a string, got float\n"},
		{`"tier_used":1`, "tier_used must be a string, got int\n"},
		{`"escalation_history":{}`, "escalation_history must be an array, got dict\n"},
		{`"escalation_history":[{"from_tier":1,"to_tier":2},3]`, "escalation_history[1] must be an object, got int\n"},
		{`"escalation_history":[{"from_tier":"fast"}]`, "escalation_history[0] missing required key: to_tier\n"},
	} {
		got := p.CompatBytes(contract.Expert, "worker-result.json", []byte(with(minimal["implement"], tt.fields)))
		if got.Err != tt.want || (got.Code == 0) != (tt.want == "") {
			t.Errorf("%s: got %+v, want %q", tt.fields, got, tt.want)
		}
	}
}
