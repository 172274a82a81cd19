package contract_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// replaced is an artifact with other fields.
func replaced(t *testing.T, artifact, fields string) string {
	t.Helper()
	var a, b map[string]any
	if err := json.Unmarshal([]byte(artifact), &a); err != nil {
		t.Fatal(err)
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

// resolves reports whether a pointer leads to a place in v, or to a key that an
// object there might have.
func resolves(v any, pointer string) bool {
	if pointer == "" {
		return true
	}
	steps := strings.Split(pointer, "/")
	if steps[0] != "" {
		return false
	}
	for i, step := range steps[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			child, ok := at[step]
			if !ok {
				return i == len(steps)-2
			}
			v = child
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at) {
				return false
			}
			v = at[n]
		default:
			return false
		}
	}
	return true
}

func FuzzValidate(f *testing.F) {
	p := contract.Builtin()
	for _, s := range p.Stages {
		f.Add([]byte(minimal[s.Name]))
	}
	f.Add([]byte(`{"verdict":"FAIL","phase_1":{"a":{"status":"FAIL"},"b/~":{}},"phase_2":{"timing_ms":1e99999999}}`))
	f.Add([]byte(`{"":{"":[{"":1,"":2}]}}`))
	f.Add([]byte(`{"":[{"":0,"":""}],"":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v any
		valid := json.Unmarshal(b, &v) == nil
		for _, s := range p.Stages {
			r := s.Validate(b)
			if !valid && r.Valid() {
				t.Fatalf("%s: %q is no JSON, and was accepted", s.Name, b)
			}
			// A repeated key hides what the first one held, so that a pointer
			// may lead to what the decoded value no longer has.
			repeats := strings.Contains(said(r.Errors), "is there twice")
			for _, problem := range append(r.Errors, r.Warnings...) {
				if problem.Text == "" || !repeats && !resolves(v, problem.Pointer) || repeats && problem.Pointer != "" && problem.Pointer[0] != '/' {
					t.Fatalf("%s: %q: problem %+v names no place", s.Name, b, problem)
				}
			}
			if got := p.CompatBytes(contract.Expert, s.Artifact, b); r.Valid() && got.Code != 0 {
				t.Fatalf("%s: %q is valid, and the older script says %+v", s.Name, b, got)
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(lintYAML))
	f.Add([]byte("self_assessment: required\nstages: [{name: plan, schema: {$ref: 'http://x'}}]"))
	f.Add([]byte("stages:\n- &a {name: plan, routes: [*a]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := contract.Load(fstest.MapFS{"p.yaml": {Data: b}, "lint.schema.json": {Data: []byte(lintSchema)}})
		if err != nil {
			return
		}
		for _, s := range p.Stages {
			s.Validate([]byte("{}"))
		}
	})
}
