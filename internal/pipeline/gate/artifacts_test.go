package gate_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
)

// builtin is the built-in pipeline.
var builtin = contract.Preset

// changed returns the built-in pipeline with the changes of a definition.
func changed(text string) (*contract.Pipeline, error) {
	all, err := contract.Parse(contract.Definition, []byte("preset: jg\n"+text), nil)
	return all[""], err
}

// valid are artifacts of a successful run.
var valid = map[string]string{
	"plan":      `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`,
	"implement": `{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":"s"}`,
	"test":      `{"verdict":"PASS","phase_1":{"unit":{"result":"PASS"}}}`,
	"debug":     `{"failure_source":"unit","failure_description":"d","root_cause":"r","root_cause_file":"a.go","root_cause_line":1,"classification":"fix_target"}`,
	"review":    `{"verdict":"PASS","blockers":[],"concerns":[],"nits":[]}`,
	"git":       `{"branch":"b","commit_sha":"s","commit_message":"m"}`,
}

const fail = `"verdict":"FAIL","phase_1":{"unit":{"result":"FAIL"}}`

// change returns an artifact with some fields replaced.
func change(t testing.TB, artifact, fields string) string {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal([]byte(artifact), &a); err != nil {
		t.Fatal(artifact, err)
	}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &b); err != nil {
		t.Fatal(fields, err)
	}
	maps.Copy(a, b)
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// read returns the artifacts of a run, by stage.
func read(t testing.TB, p *contract.Pipeline, files map[string]string) gate.Artifacts {
	t.Helper()
	a := gate.Artifacts{Outputs: map[string]gate.Output{}}
	for _, stage := range p.Stages {
		if content, ok := files[stage.Name]; ok {
			a.Outputs[stage.Name] = gate.Output{File: stage.Artifact, Report: stage.Validate([]byte(content))}
		}
	}
	a.Complexity = files["complexity"]
	if _, plan := a.Checked(p, contract.CheckPlan); plan["complexity"] != nil {
		a.Complexity = contract.Text(plan["complexity"])
	}
	return a
}

// done are the valid artifacts of some stages, others in their place.
func done(stages string, others ...string) map[string]string {
	files := map[string]string{}
	for _, stage := range strings.Fields(stages) {
		files[stage] = valid[stage]
	}
	for i := 0; i < len(others); i += 2 {
		files[others[i]] = others[i+1]
	}
	return files
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
