package progress_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/pipeline"
)

// TestDefects checks that defects which schema.py accepted are found by a
// contract, by a gate, or by Put.
func TestDefects(t *testing.T) {
	p := builtin()
	all := "plan implement test review git"
	for _, tt := range []struct {
		name, stage, fields string
		scope               []string
		want                string // the findings of the stage's gate
	}{
		{"steps without a file", "plan", `"steps":[{"order":1},{"order":2}]`, nil, "/steps/0/file: is missing"},
		{"a failure in the deprecated field, hidden by phase 2", "test",
			`"verdict":"FAIL","phase_1":{"u":{"status":"FAIL"}},"phase_2":{}`, nil,
			"phase 2 was run although u failed in phase 1"},
		{"a staged or committed change out of scope", "implement", ``, []string{"a.go", "b.go"},
			"b.go changed, which is not in affected_files"},
		{"PASS with a failing check", "test", `"phase_1":{"u":{"result":"FAIL"}}`, nil, "verdict is PASS although u failed"},
		{"PASS with concerns", "review", `"concerns":[{"file":"a.go","line":1}]`, nil,
			"verdict is PASS with 0 blocker(s) and 1 concern(s)"},
		{"FAIL without findings", "review", `"verdict":"FAIL"`, nil, "verdict is FAIL without blockers or concerns"},
		{"findings that are strings", "review", `"verdict":"FAIL","blockers":["x"]`, nil,
			"blockers/0 is not an object with a file and a line"},
		{"steps that are not a list", "plan", `"steps":"x"`, nil, "steps is empty"},
		{"files changed that were not planned", "implement", `"files_changed":["c.go"]`, []string{"a.go"},
			"files_changed has c.go, which is not in affected_files"},
		{"files changed that did not change", "implement", `"files_changed":["a.go"]`, []string{},
			"files_changed has a.go, which did not change"},
		{"confidence as a word", "plan", `"self_assessment":{"confidence":"high","uncertainty_areas":[],"recommendation":""}`,
			nil, "/self_assessment/confidence: is a string, not a number"},
		{"a line as a word", "debug", `"root_cause_line":"42"`, nil, "/root_cause_line: is a string, not an integer"},
	} {
		var scope *gate.Scope
		if tt.scope != nil {
			scope = &gate.Scope{Changes: pipeline.Changes{Changed: tt.scope}}
		}
		v := gate.Check(p, tt.stage, read(t, p, done(all, tt.stage, change(t, valid[tt.stage], tt.fields))).Artifacts, scope)
		if v.Pass || !strings.Contains(v.String(), tt.want) {
			t.Errorf("%s: got %s, want %q", tt.name, v, tt.want)
		}
	}
	s := newFixture(t)
	s.put(t, "42", "test", change(t, valid["test"], fail))
	s.put(t, "42", "test", valid["test"])
	if got, want := s.history(t, "42"), "test#1 test#2"; got != want {
		t.Errorf("a second attempt: got %s, want %s", got, want)
	}
	forged := progress.Submission{Issue: "42", Stage: "review", Agent: "jg-worker", Body: []byte(valid["review"])}
	if _, err := s.Put(t.Context(), forged); !errors.Is(err, handoff.Invalid) {
		t.Errorf("review by the worker: got %v, want Invalid", err)
	}
}

// TestNextIgnoresArchive checks that archived runs do not slow down Next: it makes
// as many allocations with 300 archived runs as with none.
func TestNextIgnoresArchive(t *testing.T) {
	s := newFixture(t)
	s.put(t, "42", "plan", valid["plan"])
	s.put(t, "42", "implement", valid["implement"])
	old := time.Now().Add(-time.Hour) // a recent file is read again
	for _, name := range []string{"plan.json", "worker-result.json"} {
		must(t, os.Chtimes(filepath.Join(s.dir, ".pipeline/42", name), old, old))
	}
	step := func() { s.next(t, "42") }
	step()
	before := testing.AllocsPerRun(20, step)
	for i := range 300 {
		s.write(t, fmt.Sprintf(".pipeline/completed/%d/plan.json", i), valid["plan"])
	}
	if after := testing.AllocsPerRun(20, step); after > before*1.02+10 {
		t.Errorf("%v allocations with 300 archived runs, %v with none", after, before)
	}
}

// TestPutNotes submits the planner's notes over a hand edit, over an earlier revision,
// and again: the file has what was submitted, as it is.
func TestPutNotes(t *testing.T) {
	const notes = "issue: 42\nstatus: in_progress\nrunning_summary: |+\n  a\n\n\n"
	const paused = "issue: 42\nstatus: paused\n"
	for name, tt := range map[string]struct {
		before    func(s fixture)
		revisions int
	}{
		"again":    {func(fixture) {}, 1},
		"edited":   {func(s fixture) { s.write(t, ".pipeline/42/state.yaml", paused) }, 3},
		"removed":  {func(s fixture) { must(t, os.Remove(filepath.Join(s.dir, ".pipeline/42/state.yaml"))) }, 1},
		"replaced": {func(s fixture) { s.put(t, "42", "state", paused) }, 3},
		"replaced, edited": {func(s fixture) {
			s.put(t, "42", "state", paused)
			s.write(t, ".pipeline/42/state.yaml", "x: 1\n")
		}, 4},
		"killed": {func(s fixture) {
			s.put(t, "42", "state", paused)
			s.put(t, "42", "state", notes)
			s.write(t, ".pipeline/42/state.yaml", paused)
		}, 3},
	} {
		s := newFixture(t)
		s.put(t, "42", "state", notes)
		tt.before(s)
		s.put(t, "42", "state", notes)
		if got, err := os.ReadFile(filepath.Join(s.dir, ".pipeline/42/state.yaml")); err != nil || string(got) != notes {
			t.Errorf("%s: state.yaml is %q, %v, want %q", name, got, err, notes)
		}
		revisions, err := names.Revisions(t.Context(), s.w.Hub(), "42", "state.yaml")
		if err != nil || len(revisions) != tt.revisions {
			t.Errorf("%s: %d revisions, %v, want %d", name, len(revisions), err, tt.revisions)
		}
		o, err := s.Overview(t.Context(), "42")
		if err != nil || !o.Attempts[len(o.Attempts)-1].Current {
			t.Errorf("%s: Overview = %+v, %v, want the last revision to be current", name, o, err)
		}
		s.write(t, ".pipeline/42/state.yaml", "issue: 42\nstatus: failed\n")
		o, err = s.Overview(t.Context(), "42")
		if err != nil || slices.ContainsFunc(o.Attempts, func(a pipeline.Attempt) bool { return a.Current }) {
			t.Errorf("%s: Overview = %+v, %v, want no current revision of an edited file", name, o, err)
		}
	}
}

// TestPutGrows refuses an artifact that is larger than the limit with its indent: it
// could be recorded, but not read.
func TestPutGrows(t *testing.T) {
	s := newFixture(t)
	large := change(t, valid["plan"], `"x":[`+strings.Repeat("1,", contract.MaxArtifact/7)+`1]`)
	if _, err := s.Put(t.Context(), progress.Submission{Issue: "42", Stage: "plan", Body: []byte(large)}); !errors.Is(err,
		handoff.Invalid) {
		t.Errorf("Put of %d bytes = %v, want Invalid", len(large), err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".pipeline")); err == nil {
		t.Error("it left .pipeline")
	}
}
