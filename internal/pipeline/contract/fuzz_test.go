package contract_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// replaced returns an artifact with some fields replaced.
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

// resolves reports whether a pointer leads to a value in v, or to a missing key of
// an object in v.
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
	p := builtin()
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
				t.Fatalf("%s: %q is not JSON and was accepted", s.Name, b)
			}
			// The value of the last duplicate key replaces the first one, so a
			// pointer may not exist in the decoded value.
			repeats := strings.Contains(lines(r.Errors), "is a duplicate key")
			for _, problem := range append(r.Errors, r.Warnings...) {
				if problem.Text == "" || !repeats && !resolves(v, problem.Pointer) || repeats && problem.Pointer != "" &&
					problem.Pointer[0] != '/' {
					t.Fatalf("%s: %q: the pointer of problem %+v does not exist", s.Name, b, problem)
				}
			}
		}
	})
}

func FuzzPreset(f *testing.F) {
	f.Add([]byte(lintYAML))
	f.Add([]byte("self_assessment: required\nstages: [{id: plan, format: {schema: {$ref: 'http://x'}}}]"))
	f.Add([]byte("stages:\n- &a {id: plan, on: [*a]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := changed(string(b), fstest.MapFS{"lint.schema.json": {Data: []byte(lintSchema)}})
		if err != nil || p == nil {
			return
		}
		for _, s := range p.Stages {
			s.Validate([]byte("{}"))
		}
	})
}
