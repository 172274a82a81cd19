package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// builtin is the built-in pipeline.
var builtin = contract.Preset

// changed returns the built-in pipeline with the changes of a definition.
func changed(text string, files fs.FS) (*contract.Pipeline, error) {
	all, err := contract.Parse(contract.Definition, []byte("preset: jg\n"+text), files)
	return all[""], err
}

// minimal are the smallest valid artifacts.
var minimal = map[string]string{
	"plan":      `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`,
	"implement": `{"status":"completed","files_changed":[],"blockers":[],"summary":""}`,
	"test":      `{"verdict":"PASS","phase_1":{}}`,
	"debug":     `{"failure_source":"","failure_description":"","root_cause":"","root_cause_file":"","root_cause_line":1,"classification":"fix_target"}`,
	"review":    `{"verdict":"PASS","blockers":[],"concerns":[],"nits":[]}`,
	"git":       `{"branch":"b","commit_sha":"s","commit_message":"m"}`,
}

func with(artifact, fields string) string {
	return strings.TrimSuffix(artifact, "}") + "," + fields + "}"
}

func lines(list []jsonschema.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// TestRefusedFiles checks which files and roots are no artifact, and which keys each one
// must have, also under another name of its file.
func TestRefusedFiles(t *testing.T) {
	for _, tt := range []struct{ file, in, want string }{
		{"x/plan.json", minimal["plan"], ""},
		{"worker-result-fast.json", minimal["implement"], ""},
		{"test-result-fail.json", minimal["test"], ""},
		{"test-result-pass.json", minimal["test"], ""},
		{"lint-result.json", "{}", "no stage has an artifact of this name"},
		{"plan.json.example", "{}", "no stage has an artifact of this name"},
		{"a/state.yaml", "{}", "no stage has an artifact of this name"},
		{"plan.json", "[]", "is an array, not an object"},
		{"plan.json", "null", "is null, not an object"},
		{"plan.json", "1.5", "is a number, not an object"},
		{"plan.json", "NaN", "invalid JSON"},
		{"plan.json", "{", "invalid JSON"},
		{"plan.json", "{}", "/acceptance_mapping: is missing\n/affected_files: is missing\n/steps: is missing\n"},
		{"worker-result-fast.json", `{"status":"completed","summary":""}`,
			"/blockers: is missing\n/files_changed: is missing\n"},
		{"test-result-fail.json", "{}", "/phase_1: is missing\n/verdict: is missing\n"},
		{"review-result.json", "{}", "/blockers: is missing\n/concerns: is missing\n/nits: is missing\n/verdict: is missing\n"},
		{"debug-diagnosis.json", "{}", "/classification: is missing\n/failure_description: is missing\n" +
			"/failure_source: is missing\n/root_cause: is missing\n/root_cause_file: is missing\n/root_cause_line: is missing\n"},
		{"git-result.json", "{}", "/branch: is missing\n/commit_message: is missing\n/commit_sha: is missing\n"},
		{"worker-result.json", with(minimal["implement"], `"tier_used":"turbo"`), "/tier_used: is \"turbo\""},
		{"worker-result.json", with(minimal["implement"], `"tier_used":1`), "/tier_used: is"},
		{"worker-result.json", with(minimal["implement"], `"escalation_history":{}`), "/escalation_history: is an object"},
		{"worker-result.json", with(minimal["implement"], `"escalation_history":[3]`), "/escalation_history/0: is a number"},
		{"worker-result.json", with(minimal["implement"], `"escalation_history":[{"from_tier":"fast"}]`),
			"/escalation_history/0/to_tier: is missing"},
	} {
		v, err := builtin().ValidateFile("", tt.file, tt.file, []byte(tt.in))
		got := lines(v.Errors)
		if err != nil {
			got = err.Error()
		}
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.file, tt.in, got, tt.want)
		}
	}
}

func TestMinimalArtifacts(t *testing.T) {
	p := builtin()
	for _, s := range p.Stages {
		r, err := validate(p, s.Artifact, []byte(minimal[s.Name]))
		if err != nil || !r.Valid() || len(r.Warnings) > 0 {
			t.Errorf("%s: got %v %v %v, want no problems", s.Artifact, r.Errors, r.Warnings, err)
		}
	}
	if _, err := validate(p, "lint-result.json", []byte("{}")); err == nil {
		t.Error("Validate of lint-result.json succeeded, want an unknown stage")
	}
}

// TestWritersAndReaders checks the writer and readers of each artifact and its
// required keys.
func TestWritersAndReaders(t *testing.T) {
	p := builtin()
	for _, tt := range []struct{ stage, artifact, writer, readers, required string }{
		{"plan", "plan.json", "jg-subplanner", "jg-worker jg-reviewer jg-debugger",
			"affected_files steps acceptance_mapping"},
		{"implement", "worker-result.json", "jg-worker", "jg-reviewer", "status files_changed blockers summary"},
		{"test", "test-result.json", "jg-tester", "jg-debugger jg-planner", "verdict phase_1"},
		{"debug", "debug-diagnosis.json", "jg-debugger", "jg-worker jg-subplanner jg-planner",
			"failure_source failure_description root_cause root_cause_file root_cause_line classification"},
		{"review", "review-result.json", "jg-reviewer", "jg-planner", "verdict blockers concerns nits"},
		{"git", "git-result.json", "jg-git", "jg-planner", "branch commit_sha commit_message"},
	} {
		s, err := p.Stage(tt.stage)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{s.Artifact, s.Writer, strings.Join(s.Readers, " ")},
			"|"); got != strings.Join([]string{tt.artifact, tt.writer, tt.readers}, "|") {
			t.Errorf("%s: got %s", tt.stage, got)
		}
		if s.Retries != 2 {
			t.Errorf("%s: got %d retries, want 2", tt.stage, s.Retries)
		}
		var want []string
		for _, key := range strings.Fields(tt.required) {
			want = append(want, "/"+key+": is missing")
		}
		slices.Sort(want)
		if got := lines(s.Validate([]byte("{}")).Errors); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("%s: an empty object got %s, want %v", tt.stage, got, want)
		}
	}
	for alias, stage := range map[string]string{"worker-result-fast.json": "implement", "test-result-fail.json": "test",
		"test-result-pass.json": "test"} {
		if s, err := p.Stage(alias); err != nil || s.Name != stage {
			t.Errorf("%s: got %v %v, want stage %s", alias, s, err, stage)
		}
	}
}

// TestFields checks valid and invalid values of every field.
func TestFields(t *testing.T) {
	p := builtin()
	const any = "*"
	for _, tt := range []struct{ stage, fields, want string }{
		{"plan", `"affected_files":"a"`, "/affected_files: is a string, not an array"},
		{"plan", `"affected_files":["a",1]`, "/affected_files/1: is a number, not a string"},
		{"plan", `"steps":"x"`, "/steps: is a string, not an array"},
		{"plan", `"steps":[{"order":1}]`, "/steps/0/file: is missing"},
		{"plan", `"steps":[{"order":"1","file":null}]`, "/steps/0/order: is a string, not an integer"},
		{"plan", `"steps":[{"order":1,"file":"","action":"edit","description":"d","rationale":"r","depends_on":[1]}]`, ""},
		{"plan", `"steps":[{"order":1,"file":"","depends_on":["1"]}]`, "/steps/0/depends_on/0: is a string, not an integer"},
		{"plan", `"acceptance_mapping":null`, "/acceptance_mapping: is null, not an object"},
		{"plan", `"acceptance_mapping":{"a/b~c":1}`, "/acceptance_mapping/a~1b~0c: is a number, not a string or an array"},
		{"plan", `"commit_plan":[{"x":1}],"risk_notes":["r"],"complexity":"complex"`, ""},
		{"plan", `"complexity":"huge"`, `/complexity: is "huge", not "trivial", "standard" or "complex"`},
		{"implement", `"status":"escalate"`, ""},
		{"implement", `"status":"done"`, `/status: is "done", not "completed", "blocked" or "escalate"`},
		{"implement", `"escalation_history":[{"from_tier":"fast","to_tier":"standard","reason":"r"}]`, ""},
		{"implement", `"escalation_history":[{"from_tier":"fast"}]`, "/escalation_history/0/to_tier: is missing"},
		{"test", `"verdict":"OK"`, `/verdict: is "OK", not "PASS", "FAIL" or "SKIP"`},
		{
			"test",
			`"phase_1":{"lint":{"result":"SKIP","output":"o"}},"phase_2":null,"classification":null,"inline_triage":true,"fix_instruction":"f"`, ""},
		{"test", `"phase_1":{"lint":{}}`, "/phase_1/lint/result: is missing; one of result, status is required"},
		{"test", `"phase_1":{"lint":"PASS"}`, ""},
		{"test", `"phase_1":{"lint":"good"}`, `/phase_1/lint: is "good", not "PASS", "FAIL" or "SKIP"`},
		{"test", `"phase_1":{"lint":1}`, "/phase_1/lint: is a number, not an object or a string"},
		{"review", `"nits":["a comment is outdated",1]`, "/nits/1: is a number, not an object or a string"},
		{"test", `"phase_2":{"checks":{"e2e":{"result":"FAIL"}},"stack_trace":"s","reproduction":"r","timing_ms":1.5}`, ""},
		{"test", `"phase_2":{"timing_ms":-1}`, "/phase_2/timing_ms: is -1, less than 0"},
		{"test", `"classification":"escalate"`, `/classification: is "escalate", not "fix_target", "plan_defect" or null`},
		{"test", `"inline_triage":"yes"`, "/inline_triage: is a string, not a boolean"},
		{"review", `"verdict":"SKIP"`, `/verdict: is "SKIP", not "PASS" or "FAIL"`},
		{"review", `"blockers":["x"]`, "/blockers/0: is a string, not an object"},
		{"review", `"concerns":[{"file":"a"}]`, "/concerns/0/line: is missing"},
		{"review", `"nits":[{"description":"d","fix":"f"}],"trim_instructions":["t"]`, ""},
		{"debug", `"root_cause_line":"42"`, "/root_cause_line: is a string, not an integer"},
		{
			"debug",
			`"classification":"plan_defect","escalation_sub":"ambiguous_requirement","fix_instructions":"f","plan_fix_instructions":["p"],"related_failures":[]`, ""},
		{"debug", `"classification":"none"`, `/classification: is "none", not "fix_target", "plan_defect" or "escalate"`},
		{"debug", `"escalation_sub":"other"`,
			`/escalation_sub: is "other", not "technical_complexity", "ambiguous_requirement" or null`},
		{"git", `"pr_number":7,"pr_url":"https://example.com/7","ci_status":"green","downstream_unblocked":[8,"9"]`, ""},
		{"git", `"pr_url":"not a url"`, `/pr_url: is "not a url", which does not match format uri`},
		{any, `"self_assessment":{"confidence":"high","uncertainty_areas":[],"recommendation":""}`,
			"/self_assessment/confidence: is a string, not a number"},
		{any, `"self_assessment":{"confidence":1.1,"uncertainty_areas":[],"recommendation":""}`,
			"/self_assessment/confidence: is 1.1, more than 1"},
		{any, `"self_assessment":{"confidence":1}`,
			"/self_assessment/recommendation: is missing\n/self_assessment/uncertainty_areas: is missing"},
		{any, `"produced_by":"jg-worker","tier_used":"high","cost_estimate":"$1"`, ""},
		{any, `"produced_by":1`, "/produced_by: is a number, not a string"},
		{any, `"tier_used":"turbo"`, `/tier_used: is "turbo", not "fast", "standard" or "high"`},
		{any, `"cost_estimate":1`, "/cost_estimate: is a number, not a string"},
	} {
		for _, s := range p.Stages {
			if tt.stage != any && tt.stage != s.Name {
				continue
			}
			r := s.Validate([]byte(replaced(t, minimal[s.Name], tt.fields)))
			if got := strings.TrimSpace(lines(r.Errors)); got != tt.want {
				t.Errorf("%s with %s:\ngot  %s\nwant %s", s.Name, tt.fields, got, tt.want)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("%s with %s: got warnings %v", s.Name, tt.fields, r.Warnings)
			}
		}
	}
}

func TestDocuments(t *testing.T) {
	s, err := builtin().Stage("git")
	if err != nil {
		t.Fatal(err)
	}
	ok := minimal["git"]
	for _, tt := range []struct{ in, errors, warnings string }{
		{"", "(root): invalid JSON: document is empty", ""},
		{"{\n \"a\": x}", "(root): invalid JSON: unexpected character, at line 2 column 7", ""},
		{`{"branch":`, "(root): invalid JSON: unexpected end of document", ""},
		{ok + " {}", "(root): invalid JSON: trailing data after the value, at line 1 column 54", ""},
		{"\xef\xbb\xbf" + ok, "(root): invalid JSON: unexpected character, at line 1 column 1", ""},
		{"\"\xff\"", "(root): is not UTF-8", ""},
		{"[]", "(root): is an array, not an object", ""},
		{"null", "(root): is null, not an object", ""},
		{with(ok, `"branch":"c"`), "/branch: is a duplicate key", ""},
		{with(ok, `"x":{"a":[{"k":1,"\u006b":2}]}`), "/x/a/0/k: is a duplicate key", "/x: is an unknown key"},
		{with(ok, `"pr_number":1e999999999`),
			"/pr_number: is 0, less than 1\n/pr_number: is a number that is too large or too precise", ""},
		{with(ok, `"x":1e-999999999`), "/x: is a number that is too large or too precise", "/x: is an unknown key"},
		{with(ok, `"":1`), "", "/: is an unknown key"},
		{strings.Repeat("[", 200_000), "(root): invalid JSON: unexpected end of document", ""},
	} {
		r := s.Validate([]byte(tt.in))
		if got := strings.TrimSpace(lines(r.Errors)); got != tt.errors && !(len(tt.in) > 1000 && len(r.Errors) == 1) {
			t.Errorf("%.60q:\ngot  %s\nwant %s", tt.in, got, tt.errors)
		}
		if got := strings.TrimSpace(lines(r.Warnings)); got != tt.warnings {
			t.Errorf("%.60q: warnings\ngot  %s\nwant %s", tt.in, got, tt.warnings)
		}
	}
	if r := s.Validate(make([]byte, contract.MaxArtifact+1)); len(r.Errors) != 1 || r.Errors[0].Pointer != "" {
		t.Errorf("document larger than MaxArtifact: got %v", r.Errors)
	}
}

func TestDeprecatedKey(t *testing.T) {
	r, err := validate(builtin(), "test", []byte(`{"verdict":"FAIL","phase_1":{"unit":{"status":"FAIL"}}}`))
	if err != nil || !r.Valid() {
		t.Fatalf("got %v %v, want no errors", r.Errors, err)
	}
	if got, want := lines(r.Warnings), "/phase_1/unit/status: is deprecated: use result instead\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAllErrorsInOrder checks that all problems are reported, in the same order
// every time, with array indexes sorted by number.
func TestAllErrorsInOrder(t *testing.T) {
	steps := strings.TrimSuffix(strings.Repeat("1,", 12), ",")
	in := []byte(`{"affected_files":1,"steps":[` + steps + `],"acceptance_mapping":[],"complexity":1}`)
	want := []string{"/acceptance_mapping", "/affected_files", "/complexity"}
	for i := range 12 {
		want = append(want, fmt.Sprintf("/steps/%d", i))
	}
	for range 20 {
		r, err := validate(builtin(), "plan", in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range r.Errors {
			got = append(got, p.Pointer)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestIssueIDs(t *testing.T) {
	for _, id := range []string{"42", "PROJ-7", "a.b_c", "x", "completed-2", strings.Repeat("a", 200)} {
		if err := contract.CheckIssue(id); err != nil {
			t.Errorf("%q: got %v, want none", id, err)
		}
	}
	for _, id := range []string{"", ".", "..", "../..", "a/b", `a\b`, "completed", "Completed", "lessons.yaml",
		"LESSONS.YAML", "a\x00b", "#6",
		"-f", ".hidden", "a b", "é", "completed/I/I", "a\n", strings.Repeat("a", 201), strings.Repeat("a", 300)} {
		if contract.CheckIssue(id) == nil {
			t.Errorf("%q: got no error, want one", id)
		}
	}
}

const lintYAML = `
self_assessment: required
stages:
  - id: lint
    purpose: the result of the linter
    writes: lint-result.json
    by: team-linter
    readers: [jg-worker]
    needs: [implement]
    optional: true
    format: {schema: lint.schema.json}
    on:
      - when: {verdict: FAIL}
        to: implement
  - id: plan
    retries: 5
  - id: debug
    readers: [jg-planner]
    on:
      - when: {classification: [fix_target, plan_defect]}
        ask: jg-planner
`

const lintSchema = `{"type":"object","required":["verdict","errors"],"allOf":[{"$ref":"/builtin/common.schema.json"}],
 "properties":{"verdict":{"enum":["PASS","FAIL"]},"output":{"type":"string"},"errors":{"type":"array"}}}`

func TestProjectStages(t *testing.T) {
	p, err := changed(lintYAML, fstest.MapFS{"lint.schema.json": {Data: []byte(lintSchema)}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Stages {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "plan implement lint test debug review git"; got != want {
		t.Errorf("stages: got %s, want %s", got, want)
	}
	if s, _ := p.Stage("plan"); s.Retries != 5 || s.Writer != "jg-subplanner" {
		t.Errorf("plan: got %d retries, writer %s; want 5 and the built-in writer", s.Retries, s.Writer)
	}
	if s, _ := p.Stage("debug"); len(s.Readers) != 1 || len(s.Routes) != 1 || len(s.Routes[0].When) != 1 ||
		s.Routes[0].To != "" || !s.Detour {
		t.Errorf("debug: got %+v, want the readers and routes given, and a detour still", s)
	}
	r, err := validate(p, "lint-result.json", []byte(`{"verdict":"OK","produced_by":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "/errors: is missing\n/produced_by: is a number, not a string\n/self_assessment: is missing; this pipeline " +
		"requires it\n/verdict: is \"OK\", not \"PASS\" or \"FAIL\"\n"
	if got := lines(r.Errors); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInvalidProjectFiles(t *testing.T) {
	stage := "stages:\n  - {id: lint, writes: lint-result.json, by: w, needs: [plan], format: {schema: "
	for _, tt := range []struct{ name, yaml, schema, want string }{
		{"http", stage + "s.json}}", `{"$ref":"https://example.com/s.json"}`,
			"https://example.com/s.json: a schema refers to itself and to built-in schemas only"},
		{"file", stage + "s.json}}", `{"$ref":"file:///etc/passwd"}`, "file:///etc/passwd: a schema refers"},
		{"inline http", stage + `{"$ref": "http://example.com/s"}}}`, "", "http://example.com/s: a schema refers"},
		{"of the project", stage + `{"$ref": "/project/s.json"}}}`, "{}", "/project/s.json: a schema refers"},
		{"above", stage + "../s.json}}", "", "../s.json is not a readable file with a schema"},
		{"no schema file", stage + "t.json}}", "", "t.json"},
		{"no schema", "stages: [{id: plan, format: any}]", "", "has no schema"},
		{"bad schema", stage + "{type: 7}}}", "", "lint"},
		{"unknown check", "stages: [{id: plan, checks: [plans]}]", "", `unknown check "plans"`},
		{"unknown key", "stages: [{id: plan, wirtes: w}]", "", `line 2, column 21: unknown key "wirtes"`},
		{"key of a former format", "stages: [{id: plan, writer: w}]", "", `unknown key "writer"`},
		{"repeated key", "self_assessment: optional\nself_assessment: required", "", "line 3, column 1: duplicate key"},
		{"need", "self_assessment: sometimes", "", "optional or required"},
		{"place", "stages: [{id: lint, writes: lint-result.json, by: w, needs: [nowhere], format: {schema: {}}}]", "",
			`"nowhere"`},
		{"route", "stages: [{id: plan, on: [{when: {a: b}, to: nowhere}]}]", "", "nowhere"},
		{"two ways", "stages: [{id: plan, on: [{when: {a: b}, to: test, ask: human}]}]", "", "either a stage"},
		{"always", "stages: [{id: plan, on: [{to: test}]}]", "", "has no condition"},
		{"same file", stage + "{}}}\n  - {id: plan, writes: lint-result.json}", "", "both write"},
		{"path", "stages: [{id: plan, writes: ../plan.json}]", "", "not a path inside"},
		{"name", "stages: [{id: Lint!, writes: lint-result.json, by: w, needs: [plan], format: {schema: {}}}]", "", "Lint!"},
		{"no yaml", "stages: [", "", "line"},
		{"no list", "stages: 7", "", "line"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := changed(tt.yaml, fstest.MapFS{"s.json": {Data: []byte(tt.schema)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// validate validates an artifact against the contract of the named stage.
func validate(p *contract.Pipeline, stage string, b []byte) (pipeline.Report, error) {
	s, err := p.Stage(stage)
	if err != nil {
		return pipeline.Report{}, err
	}
	return s.Validate(b), nil
}

// TestExamples checks that each stage has an example, that it is valid, and that
// the schema of a stage contains what it refers to.
func TestExamples(t *testing.T) {
	for _, s := range builtin().Stages {
		example, err := s.Example()
		if err != nil {
			t.Fatal(s.Name, err)
		}
		b, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Validate(b); !r.Valid() || len(r.Warnings) > 0 {
			t.Errorf("%s: the example is invalid: %v %v", s.Name, r.Errors, r.Warnings)
		}
		doc, err := s.Schema()
		if err != nil {
			t.Fatal(s.Name, err)
		}
		at, _ := doc["$id"].(string)
		defs, _ := doc["$defs"].(map[string]any)
		common, _ := defs["common_schema"].(map[string]any)
		if id, _ := common["$id"].(string); !strings.HasSuffix(at, "/builtin/"+s.Name+".schema.json") ||
			!strings.HasSuffix(id, "/builtin/common.schema.json") {
			t.Errorf("%s: $id is %q, and that of the embedded document %q", s.Name, at, id)
		}
	}
}

// TestSchemaOfAProjectStage checks the schema and the example of a stage whose
// schema refers to a built-in one.
func TestSchemaOfAProjectStage(t *testing.T) {
	p, err := changed(`stages:
  - {id: lint, writes: lint.json, by: w, needs: [implement], format: {schema: n.json}}
  - {id: all, writes: all.json, by: w, needs: [implement], format: {schema: {type: object, properties: {x: {}}}}}
`, fstest.MapFS{"n.json": {Data: []byte(
		`{"type":"object","allOf":[{"$ref":"/builtin/common.schema.json"}],"properties":{"n":{}},"examples":[{"n":1}]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	lint, err := p.Stage("lint")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := lint.Schema()
	if defs, _ := doc["$defs"].(map[string]any); err != nil || len(defs) != 1 {
		t.Errorf("got %v %v, want one embedded document", doc, err)
	}
	if example, err := lint.Example(); err != nil || fmt.Sprint(example) != "map[n:1]" {
		t.Errorf("got %v %v, want n: 1", example, err)
	}
	all, err := p.Stage("all")
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := all.Schema(); err != nil || doc["$id"] != nil || doc["$defs"] != nil {
		t.Errorf("got %v %v, want the schema as it is", doc, err)
	}
	if _, err := all.Example(); !errors.Is(err, handoff.NotFound) {
		t.Errorf("got %v, want NotFound", err)
	}
}

// TestCommonFields checks that the fields of every artifact are part of the
// contract of a project's stage.
func TestCommonFields(t *testing.T) {
	p, err := changed(`
self_assessment: required
stages:
  - {id: lint, purpose: p, writes: lint.json, by: w, needs: [implement], format: {schema: {type: object, properties: {verdict: {type: string}}}}}
  - {id: own, purpose: p, writes: own.json, by: w, needs: [implement], format: {schema: {type: object, properties: {tier_used: {type: integer}}}}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	const good = `"self_assessment":{"confidence":0.5,"recommendation":"r","uncertainty_areas":[]}`
	for _, tt := range []struct{ stage, artifact, errors, warnings string }{
		{"lint", `{"verdict":"PASS",` + good + `,"produced_by":"w","cost_estimate":"c","tier_used":"fast"}`, "[]", "[]"},
		{"lint", `{"verdict":"PASS",` + good + `,"extra":1}`, "[]", "[/extra: is an unknown key]"},
		{"lint", `{"self_assessment":{"confidence":"high","recommendation":"r","uncertainty_areas":[]},"tier_used":"turbo"}`,
			`[/self_assessment/confidence: is a string, not a number /tier_used: is "turbo", not "fast", "standard" or "high"]`,
			"[]"},
		{"own", `{` + good + `,"tier_used":7}`, "[]", "[]"},
		{"own", `[]`, "[is an array, not an object]", "[]"},
	} {
		s, err := p.Stage(tt.stage)
		if err != nil {
			t.Fatal(err)
		}
		r := s.Validate([]byte(tt.artifact))
		if got := fmt.Sprint(r.Errors); tt.artifact != "[]" && got != tt.errors {
			t.Errorf("%s %s: errors %s, want %s", tt.stage, tt.artifact, got, tt.errors)
		}
		if got := fmt.Sprint(r.Warnings); got != tt.warnings {
			t.Errorf("%s %s: warnings %s, want %s", tt.stage, tt.artifact, got, tt.warnings)
		}
	}
}

// TestReservedIssues checks the names that are no issue IDs.
func TestReservedIssues(t *testing.T) {
	for _, id := range []string{"CON", "con", "nul.txt", "COM1", "lpt9.x", "completed", "state.yaml", "Lessons.yaml",
		"plan.json", "x.JSON"} {
		if err := contract.CheckIssue(id); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: got %v, want Invalid", id, err)
		}
	}
	for _, id := range []string{"42", "CONN", "COM", "COM0", "COM10", "icon", "v1.2", "yaml", "a.yaml.b"} {
		if err := contract.CheckIssue(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
