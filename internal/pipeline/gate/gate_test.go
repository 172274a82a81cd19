package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/pipeline"
)

// checks returns the checks of the findings, warnings with a question mark.
func checks(v pipeline.GateResult) string {
	var names []string
	for _, f := range v.Findings {
		name := f.Check
		if f.Level == pipeline.Warning {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestGate(t *testing.T) {
	p := builtin()
	all := "plan implement test review git"
	with := func(stage, fields string) map[string]string { return done(all, stage, change(t, valid[stage], fields)) }
	for _, tt := range []struct {
		name, stage string
		files       map[string]string
		scope       []string // nil: no scope
		want        string
	}{
		{"plan holds", "plan", done(all), nil, ""},
		{"plan is missing", "plan", done("implement"), nil, "plan_exists"},
		{"plan is not JSON", "plan", done("", "plan", "{"), nil, "plan_exists"},
		{"plan has no files", "plan", with("plan", `"affected_files":[]`), nil, "affected_files step_in_affected"},
		{"plan names files outside", "plan", with("plan", `"affected_files":["../b","/b","a/../../b","..","..a","a.go"],`+
			`"steps":[{"order":1,"file":"../b"},{"order":2,"file":"/b"},{"order":3,"file":".."},{"order":4,"file":"..a"},`+
			`{"order":5,"file":"a.go"}]`),
			nil, "contract contract contract contract"},
		{"plan has no steps", "plan", with("plan", `"steps":[]`), nil, "steps file_has_step"},
		{"plan maps nothing", "plan", with("plan", `"acceptance_mapping":{}`), nil, "ac_mapping"},
		{"a criterion has no test", "plan", with("plan", `"acceptance_mapping":{"a":"t","b":" ","c":[],"d":[""]}`), nil,
			"ac_test_mapped ac_test_mapped ac_test_mapped"},
		{"a file has no step", "plan", with("plan", `"affected_files":["a.go","b.go"]`), nil, "file_has_step"},
		{"a step changes another file", "plan", with("plan", `"steps":[{"order":1,"file":"a.go"},{"order":2,"file":"b.go"}]`),
			nil, "step_in_affected"},
		{"a step has no file", "plan", with("plan",
			`"steps":[{"order":1,"file":"./a.go"},{"order":2,"file":null},{"order":3,"file":""}]`), nil, ""},
		{
			"patterns", "plan",
			with("plan",
				`"affected_files":["cmd/**/*.go","d?c.md"],"steps":[{"order":1,"file":"cmd/a/b/c.go"},{"order":2,"file":"cmd/d.go"},{"order":3,"file":"doc.md"}]`), nil, ""},
		{"a pattern stops at slashes", "plan",
			with("plan", `"affected_files":["*.go"],"steps":[{"order":1,"file":"cmd/a.go"}]`), nil,
			"step_in_affected file_has_step"},
		{"brackets in a name", "plan", with("plan",
			`"affected_files":["app/[id]/p.tsx"],"steps":[{"order":1,"file":"app/[id]/p.tsx"}]`), nil, ""},

		{"implement holds", "implement", done(all), []string{"a.go"}, ""},
		{"implement without its plan", "implement", done("implement"), []string{"a.go"}, "plan_exists"},
		{"implement without its artifact", "implement", done("plan"), []string{"a.go"}, "worker_result_exists"},
		{"a change out of scope", "implement", done(all), []string{"a.go", "b.go"}, "scope_extra"},
		{"a change out of the workspace", "implement", done(all), []string{"../c.go", "a.go"}, "scope_extra"},
		{"a planned file did not change", "implement", with("implement", `"files_changed":[]`), []string{}, "scope_missing?"},
		{"the worker claims more than planned", "implement", with("implement", `"files_changed":["a.go","b.go"]`),
			[]string{"a.go"}, "claim_planned"},
		{"the worker claims what did not change", "implement", done(all), []string{}, "claim_changed scope_missing?"},
		{"the worker omits a change", "implement", with("implement", `"files_changed":[]`), []string{"a.go"},
			"change_claimed"},
		{"a trivial issue has no plan", "implement", done("implement", "complexity", "trivial"), []string{"a.go"}, ""},

		{"test holds", "test", done(all), nil, ""},
		{"test is missing", "test", done("plan"), nil, "test_result_exists"},
		{"phase 2 after a failure", "test", with("test", fail+`,"phase_2":{}`), nil, "phase_2_gated"},
		{"phase 2 after a failure in the deprecated field", "test",
			with("test", `"verdict":"FAIL","phase_1":{"u":{"status":"FAIL"}},"phase_2":{}`), nil, "phase_2_gated contract?"},
		{"the worse of two fields counts", "test",
			with("test", `"verdict":"PASS","phase_1":{"u":{"status":"FAIL","result":"PASS"}}`), nil,
			"verdict_consistent contract?"},
		{"classifications", "test", with("test", fail+`,"classification":"plan_defect"`), nil, ""},
		{"no classification", "test", with("test", `"classification":"escalate"`), nil, "classification_valid"},
		{"PASS with a failure", "test", with("test", `"phase_1":{"u":{"result":"FAIL"}}`), nil, "verdict_consistent"},
		{"PASS with a failure as text", "test", with("test", `"phase_1":{"u":"FAIL"}`), nil, "verdict_consistent"},
		{"PASS with a failure in phase 2", "test", with("test", `"phase_2":{"checks":{"e":{"result":"FAIL"}}}`), nil,
			"verdict_consistent"},
		{"SKIP with a failure", "test", with("test", `"verdict":"SKIP","phase_1":{"u":{"result":"FAIL"}}`), nil,
			"verdict_consistent"},
		{"FAIL without a failure", "test", with("test", `"verdict":"FAIL"`), nil, "verdict_consistent"},
		{"FAIL with a trace", "test", with("test", `"verdict":"FAIL","phase_2":{"stack_trace":"s"}`), nil, ""},

		{"review holds", "review", done(all), nil, ""},
		{"review is missing", "review", done("plan"), nil, "review_result_exists"},
		{"PASS with a blocker", "review", with("review", `"blockers":[{"file":"a.go","line":1}]`), nil, "verdict_consistent"},
		{"PASS with a concern", "review", with("review", `"concerns":[{"file":"a.go","line":1}]`), nil, "verdict_consistent"},
		{"PASS with nits", "review", with("review", `"nits":[{"description":"d"}]`), nil, ""},
		{"FAIL with a concern", "review", with("review", `"verdict":"FAIL","concerns":[{"file":"a.go","line":1}]`), nil, ""},
		{"FAIL without findings", "review", with("review", `"verdict":"FAIL"`), nil, "verdict_consistent"},
		{"findings without a file or line", "review",
			with("review", `"verdict":"FAIL","blockers":[{"line":0,"file":"a"}],"concerns":[{"file":"","line":2}]`), nil,
			"finding_has_line finding_has_file"},
		{"findings that are strings", "review", with("review", `"verdict":"FAIL","blockers":["x"]`), nil, "finding_has_file"},

		{"git holds", "git", done(all), []string{"a.go"}, ""},
		{"git before the tests passed", "git", with("test", fail), []string{"a.go"}, "tests_passed"},
		{"git with tests skipped", "git", with("test", `"verdict":"SKIP"`), []string{"a.go"}, "tests_passed?"},
		{"git before the review", "git", done("plan implement test git"), []string{"a.go"}, "review_passed"},
		{"git out of scope", "git", done(all), []string{"a.go", "b.go"}, "scope_extra"},
		{"git is missing", "git", done("plan implement test review"), []string{"a.go"}, "git_result_exists"},

		{"wrong types", "plan", with("plan", `"steps":"x"`), nil, "steps file_has_step"},
		{"a wrong type that no other check reports", "debug",
			done("", "debug", change(t, valid["debug"], `"root_cause_line":"42"`)), nil, "contract"},
		{"the fast tier on a complex issue", "implement",
			done(all, "plan", change(t, valid["plan"], `"complexity":"complex"`), "implement",
				change(t, valid["implement"], `"tier_used":"fast"`)), []string{"a.go"}, "tier_complex_no_fast"},
		{"the fast tier for the plan of a complex issue", "plan", with("plan", `"complexity":"complex","tier_used":"fast"`),
			nil, ""},
		{"an escalation to the same tier", "implement",
			with("implement", `"escalation_history":[{"from_tier":"standard","to_tier":"standard"}]`), []string{"a.go"},
			"escalation_tier_progression"},
		{"unplanned files in blocked work", "implement",
			with("implement", `"status":"blocked","files_changed":["a.go","c.go"]`), nil, ""},
		{"unplanned files in completed work", "implement", with("implement", `"files_changed":["a.go","c.go"]`), nil,
			"claim_planned"},
		{"an escalation to a lower tier", "implement",
			with("implement",
				`"escalation_history":[{"from_tier":"high","to_tier":"fast"},{"from_tier":"fast","to_tier":"high"}]`),
			[]string{"a.go"}, "escalation_tier_progression"},
		{"no such stage", "deploy", done(all), nil, "stage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var scope *gate.Scope
			if tt.scope != nil {
				scope = &gate.Scope{Changes: pipeline.Changes{Changed: tt.scope}}
			}
			v := gate.Check(p, tt.stage, read(t, p, tt.files), scope)
			if got := checks(v); got != tt.want {
				t.Errorf("got %s, want %s\n%s", got, tt.want, v)
			}
			verdict := strings.Contains(tt.files[tt.stage], `"verdict":"FAIL"`)
			if got, want := v.Pass, !hasError(tt.want) && !verdict; got != want || v.Rejected != verdict {
				t.Errorf("Pass = %v, Rejected = %v, want %v, %v", got, v.Rejected, want, verdict)
			}
		})
	}
}

func hasError(want string) bool {
	for _, name := range strings.Fields(want) {
		if !strings.HasSuffix(name, "?") {
			return true
		}
	}
	return false
}

// TestGateLines checks the lines that scripts parse.
func TestGateLines(t *testing.T) {
	p := builtin()
	long := strings.Repeat("é", 90)
	for _, tt := range []struct {
		stage string
		files map[string]string
		scope *gate.Scope
		want  string
	}{
		{"plan", done("plan"), nil, "All invariants passed for stage 'plan' - PASS\n"},
		{"plan", nil, nil, "[ERROR] plan_exists: plan.json not found or empty\n1 error(s), 0 warning(s) - FAIL\n"},
		{"plan", done("", "plan", "[]"), nil,
			"[ERROR] plan_exists: plan.json: is an array, not an object\n1 error(s), 0 warning(s) - FAIL\n"},
		{"implement", done("plan", "implement", change(t, valid["implement"], `"files_changed":[]`)), &gate.Scope{},
			"[WARNING] scope_missing: a.go is planned and did not change\n1 warning(s) - PASS with warnings\n"},
		{"plan", done("", "plan", change(t, valid["plan"], fmt.Sprintf(`"acceptance_mapping":{%q:""}`, long))), nil,
			"[ERROR] ac_test_mapped: no test for criterion: " + strings.Repeat("é", 80) + "\n1 error(s), 0 warning(s) - FAIL\n"},
	} {
		if got := gate.Check(p, tt.stage, read(t, p, tt.files), tt.scope).String(); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.stage, got, tt.want)
		}
	}
}

// TestChecksBelongToTheDefinition checks that a gate has the rules that the
// definition of its stage names, whatever the stage is called.
func TestChecksBelongToTheDefinition(t *testing.T) {
	p, err := changed(`
stages:
  - {id: plan, optional: true}
  - {id: test, optional: true}
  - {id: review, optional: true, checks: []}
  - {id: blueprint, writes: blueprint.json, by: w, needs: [plan], format: {schema: {type: object}}, checks: [plan]}
  - {id: work, writes: work.json, by: w, needs: [implement], format: {schema: {type: object}}, checks: [changes]}
  - {id: verify, writes: verify.json, by: w, needs: [test], format: {schema: {type: object}}, checks: [tests]}
  - {id: audit, writes: audit.json, by: w, needs: [review], format: {schema: {type: object}}, checks: [review]}
  - {id: ship, writes: ship.json, by: w, needs: [git], format: {schema: {type: object}}, checks: [merge]}
  - {id: plain, writes: plain.json, by: w, needs: [git], format: {schema: {type: object}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	all := func(others ...string) map[string]string {
		files := map[string]string{"blueprint": valid["plan"], "work": valid["implement"], "verify": valid["test"],
			"audit": valid["review"], "ship": "{}"}
		for i := 0; i < len(others); i += 2 {
			files[others[i]] = others[i+1]
		}
		return files
	}
	for _, tt := range []struct {
		stage string
		files map[string]string
		want  string
	}{
		{"blueprint", all(), ""},
		{"blueprint", all("blueprint", `{}`), "affected_files steps ac_mapping"},
		{"blueprint", all("blueprint", change(t, valid["plan"], `"complexity":"complex","tier_used":"fast"`)), ""},
		{"work", all(), ""},
		{"work", all("blueprint", change(t, valid["plan"], `"affected_files":["b.go"]`)),
			"claim_planned scope_extra scope_missing?"},
		{"work", all("blueprint", change(t, valid["plan"], `"complexity":"complex"`), "work",
			change(t, valid["implement"], `"tier_used":"fast"`)), "tier_complex_no_fast"},
		{"verify", all("verify", `{"verdict":"PASS","phase_1":{"u":{"result":"FAIL"}}}`), "verdict_consistent"},
		{"audit", all("audit", `{"verdict":"PASS","blockers":["x"]}`), "verdict_consistent finding_has_file"},
		{"review", all("review", change(t, valid["review"], `"blockers":[{"file":"a.go","line":1}]`)), ""},
		{"ship", all(), ""},
		{"ship", all("verify", `{"verdict":"FAIL"}`), "tests_passed"},
		{"ship", all("test", change(t, valid["test"], fail)), "tests_passed"},
		{"ship", all("audit", `{"verdict":"FAIL"}`), "review_passed"},
		{"plain", all("plain", `{"verdict":"PASS","phase_1":{"u":{"result":"FAIL"}}}`), ""},
	} {
		stage, err := p.Stage(tt.stage)
		if err != nil {
			t.Fatal(err)
		}
		var scope *gate.Scope
		if gate.ComparesChanges(stage) {
			scope = &gate.Scope{Changes: pipeline.Changes{Changed: []string{"a.go"}}}
		}
		if v := gate.Check(p, tt.stage, read(t, p, tt.files), scope); checks(v) != tt.want {
			t.Errorf("%s: got %s, want %s\n%s", tt.stage, checks(v), tt.want, v)
		}
	}
}
