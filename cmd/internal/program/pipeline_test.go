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
		{"pipeline_trace.json", 0, []string{"trace", "42"}},
		{"pipeline_state.json", 1, []string{"trace", "42", "--state"}},
		{"pipeline_gate.json", 1, []string{"gate", "42", "test"}},
		{"pipeline_gate_pass.json", 0, []string{"gate", "42", "plan"}},
		{"pipeline_validate.json", 0, []string{"validate", ".pipeline/42/test-result.json"}},
		{"pipeline_lessons.json", 0, []string{"lessons", "add", "--pattern", "port is taken", "--mitigation",
			"listen on port 0", "--issue", "42"}},
		{"pipeline_match.json", 0, []string{"lessons", "match", "the port is taken"}},
		{"pipeline_no_match.json", 1, []string{"lessons", "match", "unrelated"}},
	} {
		out, code := c.run("", append([]string{"pipeline"}, append(tt.args, "--json")...)...)
		if code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.golden, code, tt.code)
		}
		golden(t, tt.golden, out)
	}
	c.ok("pipeline", "put", "7", "plan", ".pipeline/42/plan.json", "--as", "jg-subplanner")
	c.golden("pipeline_put.json", c.ok("pipeline", "put", "7", "implement", ".pipeline/42/worker-result.json", "--as",
		"jg-worker", "--json"))
	c.golden("pipeline_get.json", c.ok("pipeline", "get", "7", "plan", "--json"))
	c.golden("pipeline_history.json", c.ok("pipeline", "history", "7", "--json"))
	c.write(".pipeline/7/plan.json",
		`{"affected_files":["b.go"],"steps":[{"order":1,"file":"b.go"}],"acceptance_mapping":{"AC1":"b_test.go"}}`)
	c.golden("pipeline_show.json", c.ok("show", "7", "--json"))
	c.golden("pipeline_archive.json", c.ok("pipeline", "archive", "7", "--force", "--json"))
}
