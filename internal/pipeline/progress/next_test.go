package progress_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/pipeline"
	"pgregory.net/rapid"
)

// trace is a pipeline-trace.json with stages in the given order, each perhaps
// with its result after a colon.
func trace(stages string) string {
	var items []string
	for _, word := range strings.Fields(stages) {
		stage, result, _ := strings.Cut(word, ":")
		items = append(items, fmt.Sprintf(`{"stage":%q,"result":%q,"duration_ms":1000}`, stage, result))
	}
	return `{"issue_id":"42","stages":[` + strings.Join(items, ",") + `]}`
}

// answer is a step in short: who, what stage, from which files.
func answer(s pipeline.Step) string {
	if s.Done {
		return "done"
	}
	var reads []string
	for _, name := range s.Reads {
		reads = append(reads, strings.TrimSuffix(filepath.Base(name), ".json"))
	}
	text := s.Agent
	if s.Stage != "" {
		text += " " + s.Stage
	}
	if s.Tier != "" {
		text += " on " + s.Tier
	}
	text += " < " + strings.Join(reads, " ")
	if s.Findings != "" {
		text += ", findings " + strings.TrimSuffix(filepath.Base(s.Findings), ".json")
	}
	return text
}

func TestNext(t *testing.T) {
	p := builtin()
	failing := func(fields string) string { return change(t, valid["test"], fail+fields) }
	diagnosis := func(class string) string {
		return change(t, valid["debug"], fmt.Sprintf(`"classification":%q`, class))
	}
	worker := func(fields string) string { return change(t, valid["implement"], fields) }
	reviewFail := change(t, valid["review"], `"verdict":"FAIL","concerns":[{"file":"a.go","line":1}]`)
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing yet", nil, "jg-subplanner plan < "},
		{"planned", done("plan"), "jg-worker implement < plan"},
		{"trivial: no plan", done("", "state.yaml", "complexity: trivial"), "jg-worker implement < "},
		{"trivial: worked", done("implement", "state.yaml", "complexity: trivial"), "jg-tester test < "},
		{"worked", done("plan implement"), "jg-tester test < "},
		{"blocked", done("plan", "implement", worker(`"status":"blocked"`)), "jg-subplanner plan < worker-result plan"},
		{"escalated", done("plan", "implement", worker(`"status":"escalate","tier_used":"fast"`)),
			"jg-worker implement on standard < plan"},
		{"escalated from no tier", done("plan", "implement", worker(`"status":"escalate"`)),
			"jg-worker implement on standard < plan"},
		{"escalated twice", done("plan", "implement", worker(`"status":"escalate","tier_used":"standard"`)),
			"jg-worker implement on high < plan"},
		{"escalated from the top", done("plan", "implement", worker(`"status":"escalate","tier_used":"high"`)),
			"human < plan worker-result"},
		{"tests pass", done("plan implement test"), "jg-reviewer review < plan worker-result"},
		{"tests skipped", done("plan implement", "test", change(t, valid["test"], `"verdict":"SKIP"`)),
			"jg-reviewer review < plan worker-result"},
		{"tests fail", done("plan implement", "test", failing("")), "jg-debugger debug < plan test-result"},
		{"inline triage", done("plan implement", "test", failing(`,"inline_triage":true,"classification":"fix_target"`)),
			"jg-worker implement < plan test-result"},
		{"inline triage of the plan", done("plan implement", "test",
			failing(`,"inline_triage":true,"classification":"plan_defect"`)), "jg-subplanner plan < test-result plan"},
		{"triage that is not inline", done("plan implement", "test", failing(`,"classification":"fix_target"`)),
			"jg-debugger debug < plan test-result"},
		{"fix target", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target")),
			"jg-worker implement < plan debug-diagnosis"},
		{"plan defect", done("plan implement", "test", failing(""), "debug", diagnosis("plan_defect")),
			"jg-subplanner plan < debug-diagnosis plan"},
		{"escalate", done("plan implement", "test", failing(""), "debug", diagnosis("escalate")),
			"human < plan worker-result test-result debug-diagnosis"},
		{"a diagnosis of tests that pass now", done("plan implement test", "debug", diagnosis("escalate")),
			"jg-reviewer review < plan worker-result"},
		{"reviewed", done("plan implement test review"), "jg-git git < "},
		{"review fails", done("plan implement test", "review", reviewFail),
			"jg-debugger debug < plan test-result, findings review-result"},
		{"a diagnosed review", done("plan implement test", "review", reviewFail, "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test review debug")),
			"jg-worker implement < plan debug-diagnosis, findings review-result"},
		{"a review whose plan is at fault", done("plan implement test", "review", reviewFail, "debug",
			diagnosis("plan_defect"), "pipeline-trace.json", trace("plan implement test review debug")),
			"jg-subplanner plan < debug-diagnosis plan, findings review-result"},
		{"an older diagnosis", done("plan implement test", "review", reviewFail, "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test debug implement test review")),
			"jg-debugger debug < plan test-result, findings review-result"},
		{"done", done("plan implement test review git"), "done"},

		{"the second work, after the diagnosis", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test:FAIL debug implement")), "jg-tester test < "},
		{"failed again", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test debug implement test")), "jg-debugger debug < plan test-result"},
		{"diagnosed again", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test debug implement test debug")),
			"jg-worker implement < plan debug-diagnosis"},
		{"three works are enough", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement test debug implement test debug implement test debug")),
			"human < plan worker-result test-result debug-diagnosis"},
		{"an escalation is not a retry", done("plan implement", "test", failing(""), "debug", diagnosis("fix_target"),
			"pipeline-trace.json", trace("plan implement:escalate implement:escalate implement test debug")),
			"jg-worker implement < plan debug-diagnosis"},
		{"the plan changed", done("plan implement test review", "pipeline-trace.json",
			trace("plan implement test review plan")), "jg-worker implement < plan"},
		{"worked after the review failed", done("plan implement test", "review", reviewFail,
			"pipeline-trace.json", trace("plan implement test review implement")), "jg-tester test < "},
		{"reviewed too often", done("plan implement test", "review", reviewFail,
			"pipeline-trace.json", trace("plan implement test review implement test review implement test review")),
			"human < plan worker-result test-result review-result"},
		{"both attempts under their own names",
			done("plan implement", "test-result-fail.json", failing(""), "test-result-pass.json", valid["test"]),
			"jg-reviewer review < plan worker-result"},
		{"a failed attempt under its own name", done("plan implement", "test-result-fail.json", failing("")),
			"jg-debugger debug < plan test-result-fail"},

		{"a plan that is not JSON", done("implement", "plan", "{"), "jg-subplanner plan < plan"},
		{"a plan that is empty", done("implement", "plan", ""), "jg-subplanner plan < plan"},
		{"a plan with a file too few", done("implement", "plan", change(t, valid["plan"], `"affected_files":[]`)),
			"jg-subplanner plan < plan"},
		{"work without a plan", done("implement test review git"), "jg-subplanner plan < "},
		{"PASS with a failure", done("plan implement", "test", change(t, valid["test"], `"phase_1":{"u":{"result":"FAIL"}}`)),
			"jg-tester test < test-result"},
		{"PASS with concerns", done("plan implement test", "review",
			change(t, valid["review"], `"concerns":[{"file":"a.go","line":1}]`)),
			"jg-reviewer review < plan worker-result review-result"},
		{"git before the tests", done("plan implement review git"), "jg-tester test < "},
		{"no YAML beside it", done("plan", "state.yaml", "a: [", "pipeline-trace.json", "{"), "jg-worker implement < plan"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			step := progress.Next(p, read(t, p, tt.files))
			if got := answer(step); got != tt.want {
				t.Errorf("got %s, want %s\n%+v", got, tt.want, step)
			}
			if step.Stage != "" {
				if s, err := p.Stage(step.Stage); err != nil || step.Writes != ".pipeline/42/"+s.Artifact {
					t.Errorf("got writes %s for stage %s", step.Writes, step.Stage)
				}
			}
		})
	}
}

// TestReasonAgain checks that a newer failure is why its diagnosis is due again.
func TestReasonAgain(t *testing.T) {
	p := builtin()
	for _, tt := range []struct{ test, review, order, want string }{
		{fail, "", "plan implement test debug implement test", "test-result.json: the tests fail"},
		{"", `"verdict":"FAIL"`, "plan implement test debug implement test review",
			"review-result.json: the review has findings to fix"},
	} {
		files := done("plan implement debug", "pipeline-trace.json", trace(tt.order), "test", valid["test"])
		if tt.test != "" {
			files["test"] = change(t, valid["test"], tt.test)
		}
		if tt.review != "" {
			files["review"] = change(t, valid["review"], tt.review+`,"concerns":[{"file":"a.go","line":1}]`)
		}
		if step := progress.Next(p, read(t, p, files)); step.Stage != "debug" || step.Reason != tt.want {
			t.Errorf("%s: got %s because %q, want %q", tt.order, step.Stage, step.Reason, tt.want)
		}
	}
}

func TestUnknownOrder(t *testing.T) {
	p := builtin()
	files := done("plan implement debug", "test", change(t, valid["test"], fail))
	if step := progress.Next(p, read(t, p, files)); len(step.Notes) != 1 ||
		!strings.Contains(step.Notes[0], "the order of worker-result.json and debug-diagnosis.json is unknown") {
		t.Errorf("got notes %q, want that the order is unknown", step.Notes)
	}
	files["pipeline-trace.json"] = trace("plan implement test debug")
	if step := progress.Next(p, read(t, p, files)); len(step.Notes) != 0 {
		t.Errorf("got notes %q where the order is known", step.Notes)
	}
}

// TestFreshness checks that an artifact is stale if an input has been submitted
// again, whatever its content, and that an input without a record is identified
// by its content.
func TestFreshness(t *testing.T) {
	p := builtin()
	s := read(t, p, done("plan implement"))
	plan := s.Outputs["plan"].Digest
	first, again := progress.Attempt{Stage: "plan", ID: "1", Digest: plan}, progress.Attempt{
		Stage: "plan", ID: "2", Digest: plan, Read: map[string]string{}}
	byHand := progress.Attempt{Stage: "plan", Digest: plan}
	recorded := progress.Attempt{Stage: "plan", ID: "3", Digest: plan} // as it was
	work := func(digest, id string) progress.Attempt {
		return progress.Attempt{Stage: "implement", Read: map[string]string{"plan": digest},
			From: map[string]string{"plan": id}}
	}
	for _, tt := range []struct {
		name     string
		attempts []progress.Attempt
		stale    bool
	}{
		{"the last attempt", []progress.Attempt{first, again, work(plan, "2")}, false},
		{"the last attempt, in another order", []progress.Attempt{first, work(plan, "2"), again}, false},
		{"an earlier attempt with the same bytes", []progress.Attempt{first, again, work(plan, "1")}, true},
		{"submitted again", []progress.Attempt{first, work(plan, "1"), again}, true},
		{"without a record", []progress.Attempt{byHand, work(plan, "")}, false},
		{"recorded later", []progress.Attempt{work(plan, ""), recorded}, false},
		{"without a record, submitted again", []progress.Attempt{work(plan, ""), recorded, again}, true},
		{"withdrawn", []progress.Attempt{work(plan, "9"), byHand}, false},
		{"another plan", []progress.Attempt{byHand, work("another", "")}, true},
		{"unknown, in order", []progress.Attempt{byHand, {Stage: "implement"}}, false},
		{"unknown, the plan is later", []progress.Attempt{{Stage: "implement"}, byHand}, true},
	} {
		s.Attempts = tt.attempts
		want := "jg-tester test < "
		if tt.stale {
			want = "jg-worker implement < plan"
		}
		if got := answer(progress.Next(p, s)); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
	}
}

// TestSecondFailure checks that each failure is diagnosed, also by a stage that
// comes before the one that fails.
func TestSecondFailure(t *testing.T) {
	p, err := changed(`
stages:
  - {id: triage, writes: triage.json, by: team-triage, retries: 1, needs: [plan], detour: true, format: {schema: {type: object}}, on: [{when: {to: worker}, to: implement}]}
  - {id: test, on: [{when: {verdict: FAIL}, to: triage}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for attempts, want := range map[string]string{
		"plan implement test triage":                                      "jg-worker implement < plan triage",
		"plan implement test triage implement test":                       "team-triage triage < test-result",
		"plan implement test triage implement test triage":                "jg-worker implement < plan triage",
		"plan implement test triage implement test triage implement test": "human < plan worker-result test-result triage",
	} {
		files := done("plan implement", "triage", `{"to":"worker"}`, "test", change(t, valid["test"], fail),
			"pipeline-trace.json", trace(attempts))
		if got := answer(progress.Next(p, read(t, p, files))); got != want {
			t.Errorf("after %s: got %s, want %s", attempts, got, want)
		}
	}
}

func TestNextOfAProjectsStage(t *testing.T) {
	lint := func(optional bool) *contract.Pipeline {
		p, err := changed(fmt.Sprintf(`
stages:
  - {id: lint, writes: lint-result.json, by: team-linter, readers: [jg-worker], needs: [implement], optional: %v,
     format: {schema: {type: object, required: [verdict]}}, on: [{when: {verdict: [FAIL, ERROR]}, to: implement}]}
`, optional))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		optional bool
		lint     string
		want     string
	}{
		{true, "", "jg-tester test < "},
		{false, "", "team-linter lint < "},
		{false, `{"verdict":"PASS"}`, "jg-tester test < "},
		{true, `{"verdict":"ERROR"}`, "jg-worker implement < plan lint-result"},
		{true, `{}`, "team-linter lint < lint-result"},
	} {
		p, files := lint(tt.optional), done("plan implement")
		if tt.lint != "" {
			files["lint-result.json"] = tt.lint
		}
		if got := answer(progress.Next(p, read(t, p, files))); got != tt.want {
			t.Errorf("optional %v, %s: got %s, want %s", tt.optional, tt.lint, got, tt.want)
		}
	}
}

// TestNextWithoutPlan checks that a run goes on without a plan that is optional.
func TestNextWithoutPlan(t *testing.T) {
	p, err := changed("stages: [{id: plan, optional: true}]")
	if err != nil {
		t.Fatal(err)
	}
	for stages, want := range map[string]string{"": "jg-worker implement < ", "implement": "jg-tester test < ",
		"implement test review": "jg-git git < ", "implement test review git": "done"} {
		if got := answer(progress.Next(p, read(t, p, done(stages)))); got != want {
			t.Errorf("after %q: got %s, want %s", stages, got, want)
		}
	}
}

// contents returns possible contents of a file: valid, invalid, inconsistent and
// not JSON.
func contents(t testing.TB, stage string) []string {
	list := []string{valid[stage], "", "{", "[]", "null", "{}",
		`{"verdict":7,"status":{},"classification":[],"steps":"x","phase_1":3,"blockers":{"a":1}}`}
	for _, fields := range []string{
		fail, `"verdict":"FAIL"`, `"verdict":"SKIP"`, `"status":"blocked"`, `"status":"escalate"`,
		`"status":"escalate","tier_used":"high"`,
		`"classification":"plan_defect"`, `"classification":"escalate"`, fail +
			`,"inline_triage":true,"classification":"fix_target"`,
		`"verdict":"FAIL","blockers":[{"file":"a.go","line":1}]`, `"complexity":"trivial"`, `"affected_files":["b.go"]`,
	} {
		list = append(list, change(t, valid[stage], fields))
	}
	return list
}

// TestNextIsTotal checks that Next returns a valid step for every folder: a stage
// and its writer, a person, or the end of the run; and that the step does not
// depend on file times.
func TestNextIsTotal(t *testing.T) {
	t.Parallel()
	p := builtin()
	stages := []string{"plan", "implement", "test", "debug", "review", "git"}
	all := map[string][]string{}
	for _, stage := range stages {
		all[stage] = contents(t, stage)
	}
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{}
		for _, s := range p.Stages {
			for _, name := range s.Files() {
				if rapid.IntRange(0, 2).Draw(r, "there "+name) > 0 &&
					(name == s.Artifact || rapid.IntRange(0, 3).Draw(r, "alias") == 0) {
					files[name] = rapid.SampledFrom(all[s.Name]).Draw(r, name)
				}
			}
		}
		if rapid.Bool().Draw(r, "traced") {
			files["pipeline-trace.json"] = trace(
				strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(stages, "test:FAIL", "implement:escalate", "none")), 0,
					14).Draw(r, "trace"), " "))
		}
		files["state.yaml"] = rapid.SampledFrom([]string{"", "complexity: trivial", "complexity: [", "complexity: 7",
			"complexity: complex"}).Draw(r, "state")
		root, dir := newFiles(t, files)
		s, err := progress.Read(root, p, "42")
		if err != nil {
			r.Fatal(err)
		}
		step := progress.Next(p, s)
		checkStep(r, p, s, step)
		recorded := s
		recorded.Attempts, recorded.AcceptStale = drawAttempts(r, s, stages), rapid.Bool().Draw(r, "accept stale")
		checkStep(r, p, recorded, progress.Next(p, recorded))
		progress.OverviewOf(p, recorded)
		for name := range files {
			at := time.Unix(int64(rapid.IntRange(0, 1<<30).Draw(r, "time "+name)), 0)
			if err := os.Chtimes(filepath.Join(dir, ".pipeline", "42", name), at, at); err != nil {
				r.Fatal(err)
			}
		}
		again, err := progress.Read(root, p, "42")
		if err != nil || !reflect.DeepEqual(progress.Next(p, again), step) {
			r.Fatalf("with other times: got %+v %v, want %+v", progress.Next(p, again), err, step)
		}
		if _, err := progress.Derive(p, s).YAML(); err != nil {
			r.Fatal(err)
		}
	})
}

// drawAttempts returns random attempts: in any order, made from the files in the
// folder, from something else, or from unknown inputs.
func drawAttempts(r *rapid.T, s progress.State, stages []string) []progress.Attempt {
	var writes []progress.Attempt
	for range rapid.IntRange(0, 10).Draw(r, "writes") {
		w := progress.Attempt{Stage: rapid.SampledFrom(stages).Draw(r, "stage"),
			Tier: rapid.SampledFrom([]string{"", "fast", "high"}).Draw(r, "tier")}
		if rapid.Bool().Draw(r, "read") {
			w.Read = map[string]string{}
			for _, from := range rapid.SliceOfN(rapid.SampledFrom(stages), 0, 3).Draw(r, "from") {
				w.Read[from] = rapid.SampledFrom([]string{s.Outputs[from].Digest, "another"}).Draw(r, "digest")
			}
		}
		writes = append(writes, w)
	}
	return writes
}

// checkStep checks the invariants of a step.
func checkStep(r *rapid.T, p *contract.Pipeline, s progress.State, step pipeline.Step) {
	if step.Reason == "" || step.Reads == nil {
		r.Fatalf("step without a reason or reads: %+v", step)
	}
	for _, name := range step.Reads {
		if !slices.ContainsFunc(p.Stages,
			func(st *contract.Stage) bool { return ".pipeline/42/"+s.Outputs[st.Name].File == name }) {
			r.Fatalf("reads %s, which does not exist: %+v", name, step)
		}
	}
	switch {
	case step.Done:
		for _, stage := range p.Stages {
			if _, there := s.Outputs[stage.Name]; !there && !stage.Detour && stage.Skip != s.Complexity {
				r.Fatalf("done without %s", stage.Artifact)
			}
		}
		if !gate.Check(p, "git", s.Artifacts, nil).Pass {
			r.Fatalf("done although the last gate fails: %s", gate.Check(p, "git", s.Artifacts, nil))
		}
	case step.Stage != "":
		stage, err := p.Stage(step.Stage)
		if err != nil || stage.Writer != step.Agent || step.Writes != ".pipeline/42/"+stage.Artifact {
			r.Fatalf("wrong stage or writer: %+v", step)
		}
	case step.Agent != contract.Human && step.Agent != "jg-planner":
		r.Fatalf("unknown agent: %+v", step)
	}
}
