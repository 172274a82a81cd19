package progress_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/pipeline"
)

// stateOf returns a run with the given artifacts.
func stateOf(p *contract.Pipeline, artifacts map[string][]byte) progress.State {
	s := progress.State{Issue: "42", Artifacts: gate.Artifacts{Outputs: map[string]gate.Output{}}}
	for _, stage := range p.Stages {
		if b, ok := artifacts[stage.Name]; ok {
			s.Outputs[stage.Name] = gate.Output{File: stage.Artifact, Report: stage.Validate(b)}
		}
	}
	return s
}

// checkSafe checks the invariants of validation and gates for any artifact.
func checkSafe(t *testing.T, p *contract.Pipeline, artifacts map[string][]byte) {
	t.Helper()
	s := stateOf(p, artifacts)
	for _, stage := range p.Stages {
		out := s.Outputs[stage.Name]
		v := gate.Check(p, stage.Name, s.Artifacts, &gate.Scope{Changes: pipeline.Changes{Changed: []string{"a.go", "b.go"}}})
		if !out.Report.Valid() && v.Pass {
			t.Fatalf("%s: %q violates its contract and the gate passes", stage.Name, artifacts[stage.Name])
		}
		for _, f := range v.Findings {
			if f.Text == "" || f.Check == "" || f.Pointer != "" && f.Pointer[0] != '/' {
				t.Fatalf("%s: %q: finding %+v has no text or an invalid pointer", stage.Name, artifacts[stage.Name], f)
			}
		}
		for _, problem := range out.Report.Errors {
			if problem.Text == "" || problem.Pointer != "" && problem.Pointer[0] != '/' {
				t.Fatalf("%s: %q: problem %+v has no text or an invalid pointer", stage.Name, artifacts[stage.Name], problem)
			}
		}
	}
	if step := progress.Next(p, s); step.Reason == "" {
		t.Fatalf("%q: no reason", artifacts)
	}
	progress.Derive(p, s)
}

// TestTenThousandArtifacts validates and gates mutated artifacts: with bytes
// changed, removed and repeated, and with values of the wrong type.
func TestTenThousandArtifacts(t *testing.T) {
	p := builtin()
	random := rand.New(rand.NewPCG(1, 2))
	const runs = 10_000 / 6
	seen := 0
	all := map[string][]string{}
	for _, stage := range p.Stages {
		all[stage.Name] = contents(t, stage.Name)
	}
	for range runs + 1 {
		artifacts := map[string][]byte{}
		for _, stage := range p.Stages {
			list := all[stage.Name]
			artifacts[stage.Name] = mutated(random, []byte(list[random.IntN(len(list))]))
			seen++
		}
		checkSafe(t, p, artifacts)
	}
	if seen < 10_000 {
		t.Errorf("looked at %d artifacts, want 10000", seen)
	}
}

// wrongValues are values of various types.
var wrongValues = []any{nil, true, 0, -1, 1e300, "", "FAIL", "x\u0000", []any{}, []any{nil, 1, "a"}, map[string]any{},
	map[string]any{"": nil, "a/b~": []any{map[string]any{}}}}

func mutated(random *rand.Rand, b []byte) []byte {
	var v any
	if random.IntN(3) > 0 && json.Unmarshal(b, &v) == nil {
		out, err := json.Marshal(replaceValue(random, v))
		if err == nil {
			return out
		}
	}
	b = bytes.Clone(b)
	for range random.IntN(4) {
		if len(b) == 0 {
			break
		}
		at := random.IntN(len(b))
		switch random.IntN(3) {
		case 0:
			b[at] = byte(random.Uint32())
		case 1:
			b = b[:at]
		case 2:
			b = append(b[:at:at], append(bytes.Clone(b[at:]), b[at:]...)...)
		}
	}
	return b
}

// replaceValue replaces a random value.
func replaceValue(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if random.IntN(4) == 0 {
				v[key] = replaceValue(random, child)
			}
		}
		return v
	case []any:
		for i, child := range v {
			v[i] = replaceValue(random, child)
		}
		if random.IntN(3) > 0 {
			return v
		}
	}
	return wrongValues[random.IntN(len(wrongValues))]
}

func FuzzGate(f *testing.F) {
	p := builtin()
	for _, stage := range p.Stages {
		f.Add(stage.Name, []byte(valid[stage.Name]))
	}
	f.Add("test", []byte(`{"verdict":"FAIL","phase_1":[{"status":"fail"}],"phase_2":{"checks":{"a":7}}}`))
	f.Add("plan",
		[]byte(`{"affected_files":["**/**/[","\\"],"steps":[{"file":"/../a"},7],"acceptance_mapping":{"":[[[]]]}}`))
	f.Fuzz(func(t *testing.T, stage string, b []byte) {
		artifacts := map[string][]byte{}
		for name, content := range valid {
			artifacts[name] = []byte(content)
		}
		artifacts[stage] = b
		checkSafe(t, p, artifacts)
	})
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(trace("plan implement:escalate test:FAIL")),
		[]byte("complexity: trivial\nstages: {plan: {agent: worker, result: pass}}"))
	f.Add([]byte(`{"stages":[{"stage":"plan","duration_ms":1e308,"started_at":"2026-11-21T00:00:00Z"}]}`),
		[]byte("stages: 7"))
	f.Fuzz(func(t *testing.T, traced, notes []byte) {
		p := builtin()
		s := read(t, p, done("plan implement", "pipeline-trace.json", string(traced), "state.yaml", string(notes)))
		for _, at := range progress.HistoryOf(p, s) {
			if at.DurationMS < 0 || at.Attempt < 1 {
				t.Fatalf("attempt %+v", at)
			}
		}
		if progress.Next(p, s).Reason == "" {
			t.Fatal("no reason")
		}
		progress.Compare(p, s)
	})
}
