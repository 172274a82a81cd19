package program

import "testing"

// TestPipelineGoldens compares the JSON and the exit codes of the pipeline
// commands for a run with a valid plan and an inconsistent test result.
func TestPipelineGoldens(t *testing.T) {
	c := newConsole(t)
	c.write(".pipeline/42/plan.json",
		`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`)
	c.write(".pipeline/42/worker-result.json",
		`{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":""}`)
	c.write(".pipeline/42/test-result.json", `{"verdict":"PASS","phase_1":{"unit":{"status":"FAIL"}}}`)
	c.write(".pipeline/42/state.yaml", "current_stage: git\n")
	c.write(".pipeline/42/pipeline-trace.json",
		`{"stages":[{"stage":"plan","started_at":"2026-11-21T03:00:00Z","duration_ms":1500,"result":"pass"},{"stage":"implement"}]}`)
	for _, tt := range []struct {
		golden string
		code   int
		args   []string
	}{
		{"pipeline_init.json", 0, []string{"init", "42"}},
		{"pipeline_next.json", 0, []string{"next", "42"}},
		{"pipeline_gate.json", 1, []string{"gate", "42", "test"}},
		{"pipeline_gate_pass.json", 0, []string{"gate", "42", "plan"}},
		{"pipeline_validate.json", 0, []string{"validate", ".pipeline/42/test-result.json"}},
	} {
		out, code := c.run("", append([]string{"pipeline"}, append(tt.args, "--json")...)...)
		if code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.golden, code, tt.code)
		}
		golden(t, tt.golden, out)
	}
	out, code := c.run("", "show", "42", "--state", "--json")
	if code != 1 {
		t.Errorf("show --state: exit code %d, want 1", code)
	}
	golden(t, "pipeline_state.json", out)
	c.golden("pipeline_traced.json", c.ok("show", "42", "--json"))
	c.ok("pipeline", "put", "7", "plan", ".pipeline/42/plan.json", "--as", "jg-subplanner")
	c.golden("pipeline_put.json", c.ok("pipeline", "put", "7", "implement", ".pipeline/42/worker-result.json", "--as",
		"jg-worker", "--json"))
	c.golden("pipeline_get.json", c.ok("pipeline", "get", "7", "plan", "--json"))
	c.write(".pipeline/7/plan.json",
		`{"affected_files":["b.go"],"steps":[{"order":1,"file":"b.go"}],"acceptance_mapping":{"AC1":"b_test.go"}}`)
	c.golden("pipeline_show.json", c.ok("show", "7", "--json"))
	c.golden("pipeline_archive.json", c.ok("pipeline", "archive", "7", "--force", "--json"))
}
