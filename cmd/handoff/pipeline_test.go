package main

import "testing"

// TestPipelineGoldens holds what programs read of a run: a plan that holds, and
// a test result that contradicts itself.
func TestPipelineGoldens(t *testing.T) {
	c := newConsole(t)
	c.write(".pipeline/42/plan.json", `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`)
	c.write(".pipeline/42/worker-result.json", `{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":""}`)
	c.write(".pipeline/42/test-result.json", `{"verdict":"PASS","phase_1":{"unit":{"status":"FAIL"}}}`)
	c.write(".pipeline/42/pipeline-trace.json", `{"stages":[{"stage":"plan","started_at":"2026-11-21T03:00:00Z","duration_ms":1500,"result":"pass"},{"stage":"implement"}]}`)
	for name, args := range map[string][]string{
		"pipeline_init.json":     {"init", "42"},
		"pipeline_next.json":     {"next", "42"},
		"pipeline_trace.json":    {"trace", "42"},
		"pipeline_state.json":    {"trace", "42", "--state"},
		"pipeline_gate.json":     {"gate", "42", "test"},
		"pipeline_validate.json": {"validate", ".pipeline/42/test-result.json"},
		"pipeline_lessons.json":  {"lessons", "add", "--pattern", "port is taken", "--mitigation", "listen on port 0", "--issue", "42"},
	} {
		out, _ := c.run("", append([]string{"pipeline"}, append(args, "--json")...)...)
		golden(t, name, out)
	}
	golden(t, "pipeline_match.json", c.ok("pipeline", "lessons", "match", "the port is taken", "--json"))
}
