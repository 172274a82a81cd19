package progress_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

func TestReadRefuses(t *testing.T) {
	root, dir := newFiles(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".pipeline", "43")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]handoff.Kind{
		"../..": handoff.Invalid, "completed": handoff.Invalid, "a\x00": handoff.Invalid, strings.Repeat("a",
			300): handoff.Invalid,
		"44": handoff.NotFound, "43": handoff.Unavailable,
	} {
		if _, err := progress.Read(root, builtin(), id); !errors.Is(err, want) {
			t.Errorf("%.20q: got %v, want %s", id, err, want)
		}
		if _, err := folder.Init(root, id, ""); want == handoff.Invalid && !errors.Is(err, want) {
			t.Errorf("init %.20q: got %v, want %s", id, err, want)
		}
	}
}

// TestUnreadableIsNotMissing checks that an artifact that can't be read is an
// output with an error, not a stage that has not been done.
func TestUnreadableIsNotMissing(t *testing.T) {
	p := builtin()
	root, dir := newFiles(t, map[string]string{"worker-result.json": valid["implement"]})
	run := filepath.Join(dir, ".pipeline", "42")
	if err := os.Mkdir(filepath.Join(run, "plan.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(valid["test"]), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(run, "test-result.json")); err != nil {
		t.Fatal(err)
	}
	s, err := progress.Read(root, p, "42")
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"plan", "test"} {
		if out, ok := s.Outputs[stage]; !ok || out.Report.Valid() || out.Report.Value != nil {
			t.Errorf("%s: got %+v %v, want an output that can't be read", stage, out, ok)
		}
	}
	if step := progress.Next(p, s); step.Agent != "jg-subplanner" || !strings.Contains(step.Reason, "can't be read") {
		t.Errorf("got %+v", step)
	}
	if got := gate.Check(p, "plan", s.Artifacts, nil).String(); !strings.Contains(got,
		"plan_exists: plan.json: can't be read: not a regular file") {
		t.Errorf("got %s", got)
	}
}

// TestTraced reads the attempts of a run from its own trace.
func TestTraced(t *testing.T) {
	p := builtin()
	traced := `{"stages":[
	 {"stage":"plan","agent":"a","started_at":"2026-11-21T03:00:00Z","duration_ms":1500,"result":"pass"},
	 {"stage":"jg-worker","artifact":".pipeline/42/worker-result.json","duration_ms":10},
	 {"stage":"test","duration_ms":-5,"result":"FAIL"},{"stage":"implement","duration_ms":20},
	 {"stage":"nowhere","duration_ms":99},7]}`
	s := read(t, p, done("plan implement test", "pipeline-trace.json", strings.Replace(traced, ",7]", "]", 1)))
	got := progress.HistoryOf(p, s)
	if len(got) != 4 {
		t.Fatalf("got %+v, want 4 attempts", got)
	}
	for i, want := range []struct {
		stage, agent, file string
		attempt            int
		ms                 int64
	}{{"plan", "a", "plan.json", 1, 1500}, {"implement", "", "", 1, 10}, {"test", "", "test-result.json", 1, 0},
		{"implement", "", "worker-result.json", 2, 20}} {
		at := got[i]
		if at.Stage != want.stage || at.Agent != want.agent || !strings.HasSuffix(at.Path, want.file) ||
			at.Current != (want.file != "") || at.Attempt != want.attempt || at.DurationMS != want.ms {
			t.Errorf("attempt %d: got %+v, want %+v", i, at, want)
		}
	}
	if got[0].StartedAt.IsZero() {
		t.Errorf("got %+v, want a start", got[0])
	}
	retries := progress.Derive(p, s).Retries
	if len(retries) != 1 || retries[0].Stage != "implement" || retries[0].Count != 1 {
		t.Errorf("retries %+v, want 1 of implement", retries)
	}
	bare := progress.HistoryOf(p, read(t, p, done("plan implement", "pipeline-trace.json", traced)))
	if len(bare) != 2 || bare[0].DurationMS != 0 || bare[1].Outcome != "completed" {
		t.Errorf("invalid trace: got %+v", bare)
	}
}

func TestDerive(t *testing.T) {
	p := builtin()
	for _, tt := range []struct {
		files         map[string]string
		status, stage string
		criterion     string
	}{
		{nil, "in_progress", "plan", ""},
		{done("plan"), "in_progress", "implement", "pending"},
		{done("plan implement"), "in_progress", "test", "implemented"},
		{done("plan implement test"), "in_progress", "review", "verified"},
		{done("plan implement", "test", change(t, valid["test"], `"phase_1":{"u":{"result":"FAIL"}}`)), "in_progress", "test",
			"implemented"},
		{done("plan implement test review git"), "completed", "git", "verified"},
		{done("plan implement", "test", change(t, valid["test"], fail), "debug",
			change(t, valid["debug"], `"classification":"escalate"`)), "paused", "", "implemented"},
	} {
		n := progress.Derive(p, read(t, p, tt.files))
		got := ""
		if len(n.Criteria) > 0 {
			got = n.Criteria[0].Status
		}
		if n.Status != tt.status || n.CurrentStage != tt.stage || got != tt.criterion {
			t.Errorf("got %s %s %s, want %s %s %s", n.Status, n.CurrentStage, got, tt.status, tt.stage, tt.criterion)
		}
	}
}

func TestCompare(t *testing.T) {
	p := builtin()
	files := func(notes string) map[string]string { return done("plan implement test", "state.yaml", notes) }
	for _, tt := range []struct{ name, notes, want string }{
		{"none", "", ""},
		{"its own output", derived(t, p, files("")), ""},
		{"the other dialect", "issue: 42\nstatus: in_progress\ncurrent_stage: review\nretries: 1\nacceptance_criteria:\n- " +
			"{id: AC1, description: d}\n" +
			"stages:\n  plan: {agent: subplanner}\n  test: {agent: tester, result: pass}\n  triage: {agent: planner}\n", ""},
		{"the title of the issue, and passed stages", "issue: Retry failed requests\nissue_number: 42\nstages:\n  plan: " +
			"{result: pass}\n  implement: {result: passed}\n  test: {result: Pass}\n", ""},
		{"another number", "issue: Retry failed requests\nissue_number: 7\n", "/issue"},
		{"a stage that did not pass", "issue: Retry failed requests\nstages:\n  test: {result: FAIL}\n",
			"/stages/test/result"},
		{"drift", "issue: 7\nstatus: completed\ncurrent_stage: git\nstages:\n  test: {agent: jg-worker, result: FAIL}\n  " +
			"review: {result: PASS}\n",
			"/issue /status /current_stage /stages/review /stages/test/agent /stages/test/result"},
	} {
		notes, err := progress.Compare(p, read(t, p, files(tt.notes)))
		var got []string
		for _, d := range notes.Drift {
			got = append(got, d.Pointer)
		}
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v %v, want %s", tt.name, got, err, tt.want)
		}
	}
	if _, err := progress.Compare(p, read(t, p, files("a: ["))); !errors.Is(err, handoff.Invalid) {
		t.Errorf("not YAML: got %v, want Invalid", err)
	}
}

func derived(t *testing.T, p *contract.Pipeline, files map[string]string) string {
	t.Helper()
	b, err := progress.Derive(p, read(t, p, files)).YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInit(t *testing.T) {
	root, _ := newFiles(t, nil)
	for range 2 {
		if got, err := folder.Init(root, "PROJ-7", ""); err != nil || got != ".pipeline/PROJ-7" {
			t.Fatalf("got %s %v", got, err)
		}
	}
	if _, err := folder.Init(root, "8", "huge"); !errors.Is(err, handoff.Invalid) {
		t.Errorf("got %v, want Invalid", err)
	}
	if _, err := root.Stat(".pipeline/8"); err == nil {
		t.Error("an invalid complexity created the folder")
	}
	if _, err := folder.Init(root, "PROJ-7", "trivial"); err != nil {
		t.Fatal(err)
	}
	s, err := progress.Read(root, builtin(), "PROJ-7")
	if err != nil || s.Complexity != "trivial" {
		t.Errorf("got %+v %v", s, err)
	}
	if _, err := folder.Init(root, "PROJ-7", "complex"); !errors.Is(err, handoff.Conflict) {
		t.Errorf("got %v, want Conflict", err)
	}
}

// TestDecisions checks the retries and routes in the derived notes.
func TestDecisions(t *testing.T) {
	p := builtin()
	n := progress.Derive(p,
		read(t, p, done("plan implement test", "pipeline-trace.json", trace("plan implement:completed test:FAIL "+
			"debug:fix_target implement:completed test:PASS"))))
	if got, want := fmt.Sprint(n.Decisions), "[{test FAIL debug} {debug fix_target implement}]"; got != want {
		t.Errorf("got decisions %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(n.Retries), "[{implement 1} {test 1}]"; got != want {
		t.Errorf("got retries %s, want %s", got, want)
	}
	if got, want := n.Criteria[0].Text+" "+n.Stages["test"].Summary, "AC1 PASS, 0 of 1 check failed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
