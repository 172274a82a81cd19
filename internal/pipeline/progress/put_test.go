package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/workspace"
)

// A fixture is a workspace with its runs.
type fixture struct {
	*progress.Runs
	w   *workspace.Workspace
	dir string
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	return openFixture(t, newDir(t))
}

func newDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o777))
	return dir
}

func openFixture(t testing.TB, dir string) fixture {
	t.Helper()
	w, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	files, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { files.Close() })
	return fixture{&progress.Runs{Hub: w.Hub().As(handoff.Producer{Agent: "tester"}), Files: files, Pipeline: builtin(),
		Definitions: func() (map[string]*contract.Pipeline, error) { return nil, nil },
		Repository:  gate.Repository{Git: git.Run, Workspace: dir}, Now: time.Now, Conclude: running}, w, dir}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put submits an artifact as its writer.
func (s fixture) put(t testing.TB, issue, stage, artifact string) progress.Receipt {
	t.Helper()
	r, err := s.Put(t.Context(), progress.Submission{Issue: issue, Stage: stage, Body: []byte(artifact)})
	must(t, err)
	return r
}

// history returns the attempts in short form: implement#2<debug#1+plan#1, and -plan for one that
// was rejected.
func (s fixture) history(t testing.TB, issue string) string {
	t.Helper()
	state, err := s.Find(t.Context(), issue)
	must(t, err)
	var list []string
	for _, a := range progress.HistoryOf(s.Pipeline, state) {
		text := fmt.Sprintf("%s#%d", a.Stage, a.Attempt)
		switch {
		case a.Attempt == 0:
			text = "-" + a.Stage
		case a.ID == "":
			text = "(" + text + ")"
		}
		if len(a.Read) > 0 {
			text += "<" + strings.Join(a.Read, "+")
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func (s fixture) next(t testing.TB, issue string) string {
	t.Helper()
	state, err := s.Read(t.Context(), issue)
	must(t, err)
	return answer(progress.Next(s.Pipeline, state))
}

func (s fixture) write(t testing.TB, name, content string) {
	t.Helper()
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(file), 0o777))
	must(t, os.WriteFile(file, []byte(content), 0o666))
}

// TestPutRefuses checks that a rejected submission leaves no record, folder or
// file.
func TestPutRefuses(t *testing.T) {
	s := newFixture(t)
	ctx := t.Context()
	opened, err := s.w.Sessions().Open(ctx, session.OpenOptions{
		Agent: handoff.SessionAgent{Name: "a"}, Workflow: handoff.SessionWorkflow{Name: "w"}})
	must(t, err)
	w := names.Writer{Hub: s.w.Hub(), Workspace: s.dir, Scope: names.Scope{Run: "run-7", Dir: s.dir}}
	_, err = w.Write(ctx, handoff.Draft{Channel: "handoff", Name: "context.md", Body: strings.NewReader("x")})
	must(t, err)
	before, err := s.w.Hub().Newest(ctx)
	must(t, err)
	plan := valid["plan"]
	for _, tt := range []struct {
		name string
		sub  progress.Submission
		kind handoff.Kind
		want string
	}{
		{"above", progress.Submission{Issue: "../..", Stage: "plan", Body: []byte(plan)}, handoff.Invalid,
			"may contain only"},
		{"reserved", progress.Submission{Issue: "completed", Stage: "plan", Body: []byte(plan)}, handoff.Invalid, "reserved"},
		{"reserved in capitals", progress.Submission{Issue: "COMPLETED", Stage: "plan", Body: []byte(plan)}, handoff.Invalid,
			"reserved"},
		{"300 bytes", progress.Submission{Issue: strings.Repeat("a", 300), Stage: "plan", Body: []byte(plan)},
			handoff.Invalid, "300 bytes"},
		{"NUL", progress.Submission{Issue: "a\x00b", Stage: "plan", Body: []byte(plan)}, handoff.Invalid, "may contain only"},
		{"unknown stage", progress.Submission{Issue: "42", Stage: "deploy", Body: []byte(plan)}, handoff.Invalid,
			"no such stage"},
		{"another agent", progress.Submission{Issue: "42", Stage: "plan", Agent: "jg-worker", Body: []byte(plan)},
			handoff.Invalid, "must be written by jg-subplanner, not by jg-worker"},
		{"made by another agent", progress.Submission{Issue: "42", Stage: "plan", Agent: "jg-subplanner",
			Body: []byte(change(t, plan, `"produced_by":"jg-planner"`))}, handoff.Invalid, "produced_by is jg-planner"},
		{"not JSON", progress.Submission{Issue: "42", Stage: "plan", Body: []byte("{")}, handoff.Invalid,
			"violates its contract: 1 problem"},
		{"contract violations", progress.Submission{Issue: "42", Stage: "plan", Body: []byte(`{"steps":"x"}`)},
			handoff.Invalid, "violates its contract: 3 problems"},
		{"a session", progress.Submission{Issue: opened.ID, Stage: "plan", Body: []byte(plan)}, handoff.Conflict, "session"},
		{"a run", progress.Submission{Issue: "run-7", Stage: "plan", Body: []byte(plan)}, handoff.Conflict,
			"wrote context.md"},
		{"unknown input", progress.Submission{Issue: "42", Stage: "plan", Body: []byte(plan),
			From: []string{"art_00000000000000000000000000"}}, handoff.NotFound, ""},
	} {
		if _, err := s.Put(ctx, tt.sub); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want kind %s with %q", tt.name, err, tt.kind, tt.want)
		}
	}
	after, err := s.w.Hub().Newest(ctx)
	must(t, err)
	if _, err := os.Lstat(filepath.Join(s.dir, ".pipeline")); after != before || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d new records, .pipeline: %v", after-before, err)
	}
}

// TestPutByVariants checks that a writer is recognized without its prefix and with
// a tier.
func TestPutByVariants(t *testing.T) {
	s := newFixture(t)
	for i, agent := range []string{"jg-subplanner", "subplanner", "jg-subplanner-fast", "subplanner-high"} {
		body := change(t, valid["plan"], fmt.Sprintf(`"produced_by":%q,"risk_notes":["%d"]`, agent, i))
		if _, err := s.Put(t.Context(), progress.Submission{Issue: "42", Stage: "plan.json", Agent: agent,
			Body: []byte(body)}); err != nil {
			t.Errorf("%s: %v", agent, err)
		}
	}
	for _, agent := range []string{"jg-subplanner-slow", "sub-planner", "jg-", "x-jg-subplanner"} {
		if _, err := s.Put(t.Context(), progress.Submission{Issue: "42", Stage: "plan", Agent: agent,
			Body: []byte(valid["plan"])}); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: got %v, want Invalid", agent, err)
		}
	}
}

// TestAttempts follows a run through every kind of attempt.
func TestAttempts(t *testing.T) {
	s := newFixture(t)
	plan2 := change(t, valid["plan"], `"risk_notes":["two"]`)
	failing := change(t, valid["test"], fail)
	for _, tt := range []struct {
		do            func()
		history, next string
	}{
		{func() { s.put(t, "42", "plan", valid["plan"]) }, "plan#1", "jg-worker implement < plan"},
		{func() { s.put(t, "42", "plan", " "+valid["plan"]+"\n") }, "plan#1", "jg-worker implement < plan"}, // the same
		{func() { s.put(t, "42", "implement", valid["implement"]) }, "plan#1 implement#1<plan#1", "jg-tester test < "},
		{func() { s.put(t, "42", "plan", plan2) }, "plan#1 implement#1<plan#1 plan#2", "jg-worker implement < plan"},
		{func() { s.put(t, "42", "implement", valid["implement"]) }, "plan#1 implement#1<plan#1 plan#2 implement#2<plan#2",
			"jg-tester test < "},
		{func() { s.put(t, "42", "plan", valid["plan"]) }, "plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3",
			"jg-worker implement < plan"},
		// the bytes of plan#2 are no evidence
		{func() { s.put(t, "42", "plan", plan2) }, "plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4",
			"jg-worker implement < plan"},
		{func() { s.put(t, "42", "implement", valid["implement"]) },
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4", "jg-tester test < "},
		{func() { s.write(t, ".pipeline/42/test-result.json", failing) },
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4 (test#1)",
			"jg-debugger debug < plan test-result"},
		{func() { s.put(t, "42", "debug", valid["debug"]) },
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4 (test#1) debug#1<plan#4+test#1", "human < plan worker-result test-result debug-diagnosis"},
		{func() { s.put(t, "42", "test", valid["test"]) }, // which saves the file written by hand
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4 debug#1<plan#4+test#? " +
				"test#1 test#2<implement#3", "jg-reviewer review < plan worker-result"},
		{func() { must(t, os.Remove(filepath.Join(s.dir, ".pipeline/42/test-result.json"))) },
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4 debug#1<plan#4+test#? " +
				"test#1 test#2<implement#3", "jg-tester test < "},
		{func() { s.put(t, "42", "test", valid["test"]) }, // unchanged, and the file is restored
			"plan#1 implement#1<plan#1 plan#2 implement#2<plan#2 plan#3 plan#4 implement#3<plan#4 debug#1<plan#4+test#? " +
				"test#1 test#2<implement#3", "jg-reviewer review < plan worker-result"},
	} {
		tt.do()
		if got := s.history(t, "42"); got != tt.history {
			t.Fatalf("got  %s\nwant %s", got, tt.history)
		}
		if got := s.next(t, "42"); got != tt.next {
			t.Fatalf("after %s: got %s, want %s", tt.history, got, tt.next)
		}
	}
}

// TestWithdrawn checks that a withdrawn attempt does not count and can be
// submitted again.
func TestWithdrawn(t *testing.T) {
	s := newFixture(t)
	r := s.put(t, "42", "plan", valid["plan"])
	_, err := s.w.Withdraw(t.Context(), r.ID, "wrong issue")
	must(t, err)
	if got := s.history(t, "42"); got != "(plan#1) -plan" { // the file still exists
		t.Errorf("got %s", got)
	}
	if again := s.put(t, "42", "plan", valid["plan"]); again.ID == r.ID || again.Existing ||
		s.history(t, "42") != "-plan plan#1" {
		t.Errorf("got %s, existing %v, %s, want a new record", again.ID, again.Existing, s.history(t, "42"))
	}
}

// TestMadeFrom checks that a submission can name inputs other than the current
// ones.
func TestMadeFrom(t *testing.T) {
	s := newFixture(t)
	first := s.put(t, "42", "plan", valid["plan"])
	s.put(t, "42", "plan", change(t, valid["plan"], `"risk_notes":["two"]`))
	r, err := s.Put(t.Context(), progress.Submission{Issue: "42", Stage: "implement", Body: []byte(valid["implement"]),
		From: []string{first.ID}})
	must(t, err)
	if !slices.Equal(r.Parents, []string{first.ID}) || r.Channel != "implement" || r.Namespace != "42" ||
		r.Name != "worker-result.json" || r.Path != ".pipeline/42/worker-result.json" {
		t.Errorf("got %+v", r.ArtifactPublished)
	}
	if got, want := s.history(t, "42"), "plan#1 plan#2 implement#1<plan#1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	state, err := s.Read(t.Context(), "42")
	must(t, err)
	if got := progress.Stale(s.Pipeline, state); got["implement"] != "plan.json changed since" || len(got) != 1 {
		t.Errorf("got %v, want implement stale", got)
	}
	state.AcceptStale = true
	if got := answer(progress.Next(s.Pipeline, state)); got != "jg-tester test < " {
		t.Errorf("got %s", got)
	}
}

// TestStale checks that an artifact made from a stale one is stale too.
func TestStale(t *testing.T) {
	s := newFixture(t)
	for _, stage := range []string{"plan", "implement", "test", "review", "git"} {
		s.put(t, "42", stage, valid[stage])
	}
	s.write(t, ".pipeline/42/worker-result.json", change(t, valid["implement"], `"summary":"by hand"`))
	state, err := s.Read(t.Context(), "42")
	must(t, err)
	var got []string
	for _, v := range progress.OverviewOf(s.Pipeline, state).Stages {
		got = append(got, fmt.Sprintf("%s %d %s: %s", v.Stage, v.Attempts, v.Ref, v.Stale))
	}
	want := []string{"plan 1 42/plan.json: ", "implement 2 : ",
		"test 1 42/test-result.json: worker-result.json changed since",
		"review 1 42/review-result.json: worker-result.json changed since",
		"git 1 42/git-result.json: review-result.json is stale"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestArchive checks the errors of Archive and Unarchive and the folders of runs.
func TestArchive(t *testing.T) {
	s := newFixture(t)
	ctx := t.Context()
	if _, err := s.Archive(ctx, "42", pipeline.ArchiveOptions{Force: true}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("no run: got %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".pipeline")); err == nil {
		t.Error("Archive created .pipeline")
	}
	s.put(t, "42", "plan", valid["plan"])
	if _, err := s.Archive(ctx, "42", pipeline.ArchiveOptions{}); !errors.Is(err, handoff.Conflict) {
		t.Errorf("not finished: got %v", err)
	}
	s.write(t, ".pipeline/completed/42/plan.json", "of another tool")
	for _, want := range []string{"42~2", "42~3"} {
		s.put(t, "42", "plan", valid["plan"])
		m, err := s.Archive(ctx, "42", pipeline.ArchiveOptions{Force: true})
		if err != nil || m.To != ".pipeline/completed/"+want || m.From != ".pipeline/42" {
			t.Errorf("got %+v %v, want %s", m, err, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(s.dir, ".pipeline/completed/42/plan.json")); err != nil ||
		string(b) != "of another tool" {
		t.Errorf("an archive was touched: %q %v", b, err)
	}
	if got := s.history(t, "42"); got != "plan#1" {
		t.Errorf("the run archived last: got %s", got)
	}
	if m, err := s.Unarchive(ctx, "completed/42~2"); err != nil || m.To != ".pipeline/42" || m.Issue != "42" {
		t.Errorf("got %+v %v, want issue 42", m, err)
	}
	for name, want := range map[string]handoff.Kind{"42~3": handoff.Conflict, "42.9": handoff.NotFound,
		"../42": handoff.Invalid, "completed": handoff.Invalid, "a/../../b.2": handoff.Invalid} {
		if _, err := s.Unarchive(ctx, name); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	long := strings.Repeat("x", 200)
	for range 2 {
		s.put(t, long, "plan", valid["plan"])
		_, err := s.Archive(ctx, long, pipeline.ArchiveOptions{Force: true})
		must(t, err)
	}
	if m, err := s.Unarchive(ctx, long+"~2"); err != nil || m.Issue != long {
		t.Errorf("got %.30s… %v, want the issue of 200 bytes", m.Issue, err)
	}
}

// TestPath checks the path of artifacts in several states.
func TestPath(t *testing.T) {
	s := newFixture(t)
	ctx := t.Context()
	s.put(t, "42", "plan", valid["plan"])
	s.write(t, ".pipeline/42/test-result-fail.json", valid["test"])
	s.put(t, "42", "implement", valid["implement"])
	must(t, os.Remove(filepath.Join(s.dir, ".pipeline/42/worker-result.json")))
	s.put(t, "43", "plan", valid["plan"])
	_, err := s.Archive(ctx, "43", pipeline.ArchiveOptions{Force: true})
	must(t, err)
	for _, tt := range []struct {
		issue, stage, want string
		kind               handoff.Kind
	}{
		{"42", "plan", ".pipeline/42/plan.json", ""},
		{"42", "test", ".pipeline/42/test-result-fail.json", ""},
		{"42", "worker-result.json", "", handoff.Unavailable},
		{"42", "review", "", handoff.NotFound},
		{"43", "plan", ".pipeline/completed/43/plan.json", ""},
		{"44", "plan", "", handoff.NotFound},
		{"42", "deploy", "", handoff.Invalid},
		{"..", "plan", "", handoff.Invalid},
	} {
		f, err := s.Get(ctx, tt.issue, tt.stage)
		got := f.Path
		if got != tt.want || tt.kind == "" != (err == nil) || tt.kind != "" && !errors.Is(err, tt.kind) {
			t.Errorf("%s %s: got %s %v, want %s %s", tt.issue, tt.stage, got, err, tt.want, tt.kind)
		}
	}
}

// TestManyPuts submits 20 artifacts of different stages and issues concurrently,
// each from its own workspace, and checks that all are recorded and every file is
// complete.
func TestManyPuts(t *testing.T) { manyPuts(t, 4) }

// TestManyPutsLong is TestManyPuts for 200.
func TestManyPutsLong(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("HANDOFF_LONG is not set")
	}
	manyPuts(t, 40)
}

func manyPuts(t *testing.T, issues int) {
	dir := newDir(t)
	stages := []string{"plan", "implement", "test", "review", "git"}
	var all sync.WaitGroup
	for i := range issues {
		for _, stage := range stages {
			all.Go(func() {
				s := openFixture(t, dir)
				body := change(t, valid[stage], fmt.Sprintf(`"cost_estimate":"%d"`, i))
				if _, err := s.Put(context.Background(),
					progress.Submission{Issue: fmt.Sprint("i", i), Stage: stage, Body: []byte(body)}); err != nil {
					t.Errorf("%d %s: %v", i, stage, err)
				}
			})
		}
	}
	all.Wait()
	s := openFixture(t, dir)
	for i := range issues {
		state, err := s.Read(t.Context(), fmt.Sprint("i", i))
		must(t, err)
		if got := len(progress.HistoryOf(s.Pipeline, state)); got != len(stages) || len(state.Attempts) != len(stages) {
			t.Errorf("i%d: %d attempts, want %d", i, got, len(stages))
		}
		for _, stage := range stages {
			if out := state.Outputs[stage]; !out.Report.Valid() || out.Report.Value["cost_estimate"] != fmt.Sprint(i) {
				t.Errorf("i%d %s: %v", i, stage, out.Report.Errors)
			}
		}
	}
}

// TestManyPutsOfOneStage submits 20 artifacts of one stage concurrently: one is
// the head, and its content is in the file; the other 19 can be read.
func TestManyPutsOfOneStage(t *testing.T) {
	dir := newDir(t)
	const n = 20
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			s := openFixture(t, dir)
			body := change(t, valid["plan"], fmt.Sprintf(`"risk_notes":["%d"]`, i))
			if _, err := s.Put(context.Background(),
				progress.Submission{Issue: "42", Stage: "plan", Body: []byte(body)}); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
	s := openFixture(t, dir)
	revisions, err := names.Revisions(t.Context(), s.w.Hub(), "42", "plan.json")
	must(t, err)
	heads, bodies := 0, map[string]bool{}
	for i, a := range revisions {
		b, err := s.w.Hub().Open(t.Context(), a.ID)
		must(t, err)
		text, err := io.ReadAll(b)
		must(t, errors.Join(err, b.Close()))
		bodies[string(text)] = true
		file, err := os.ReadFile(filepath.Join(dir, ".pipeline/42/plan.json"))
		must(t, err)
		if a.Status == handoff.Active {
			heads++
			if string(file) != string(text) || i != n-1 {
				t.Errorf("the head is revision %d, and the file has other content", i+1)
			}
		}
	}
	if len(revisions) != n || heads != 1 || len(bodies) != n {
		t.Errorf("%d revisions, %d heads, %d different bodies, want %d, 1, %d", len(revisions), heads, len(bodies), n, n)
	}
}

// TestOutdatedFile leaves the file of a stage as a process does that is killed between
// the record and the file, and as one does that takes it back. Commands that read report
// it, and the next put, a repair and RestoreStage write it. None takes the older bytes
// for another attempt.
func TestOutdatedFile(t *testing.T) {
	first, second := valid["implement"], change(t, valid["implement"], `"summary":"second"`)
	const attempts = "plan#1 implement#1<plan#1 implement#2<plan#1"
	for name, tt := range map[string]struct {
		run     func(t *testing.T, s fixture)
		written bool
		history string
	}{
		"next": {func(t *testing.T, s fixture) {
			want := []pipeline.Outdated{{Stage: "implement", Path: ".pipeline/42/worker-result.json",
				Ref: "42/worker-result.json", Rev: 2}}
			step, err := s.Next(t.Context(), "42", false)
			if err != nil || !slices.Equal(step.Outdated, want) || step.Agent != "jg-tester" {
				t.Errorf("next = %+v, %v, want jg-tester and %v", step, err, want)
			}
		}, false, attempts},
		"archive": {func(t *testing.T, s fixture) {
			s.put(t, "42", "test", valid["test"])
			s.put(t, "42", "review", valid["review"])
			s.put(t, "42", "git", valid["git"])
			_, err := s.Archive(t.Context(), "42", pipeline.ArchiveOptions{})
			var e *handoff.Error
			if !errors.As(err, &e) || e.Kind != handoff.Conflict || e.Hint.Action != handoff.ActionRewrite {
				t.Errorf("Archive = %v, want a conflict", err)
			}
			if m, err := s.Archive(t.Context(), "42", pipeline.ArchiveOptions{Force: true}); err != nil || len(m.Warnings) != 1 {
				t.Errorf("Archive = %+v, %v with force, want a warning at once", m, err)
			}
			_, err = s.Unarchive(t.Context(), "42")
			must(t, err)
		}, false, attempts + " test#1<implement#1 review#1<implement#1+plan#1+test#1 git#1<review#1"},
		"put of another stage": {func(t *testing.T, s fixture) { s.put(t, "42", "test", valid["test"]) }, false,
			attempts + " test#1<implement#1"},
		"put again": {func(t *testing.T, s fixture) { s.put(t, "42", "implement", second) }, true, attempts},
		"put of the older one": {func(t *testing.T, s fixture) { s.put(t, "42", "implement", first) }, false,
			attempts + " implement#3<plan#1"},
		"restore": {func(t *testing.T, s fixture) {
			_, err := s.RestoreStage(t.Context(), "42", "implement")
			must(t, err)
		}, true, attempts},
		"read": {func(t *testing.T, s fixture) {
			b, err := s.w.Read(t.Context(), "42/worker-result.json", workspace.ReadOptions{})
			must(t, err)
			must(t, b.Close())
		}, false, attempts},
		"repair": {func(t *testing.T, s fixture) {
			report, err := s.w.Store().Repair(t.Context(), time.Now())
			must(t, err)
			if len(report.Findings) != 1 || !strings.Contains(report.Findings[0].Text, "newest revision") {
				t.Errorf("Repair = %+v, want a finding", report)
			}
		}, true, attempts},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.put(t, "42", "plan", valid["plan"])
			file := s.put(t, "42", "implement", first).File
			older, err := os.ReadFile(file)
			must(t, err)
			s.put(t, "42", "implement", second)
			newest, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, older, 0o666))
			tt.run(t, s)
			want := older
			if tt.written {
				want = newest
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
				t.Errorf("the file is %q, %v, want %q", got, err, want)
			}
			if got := s.history(t, "42"); got != tt.history {
				t.Errorf("history = %s, want %s", got, tt.history)
			}
			edited := change(t, first, `"summary":"edited"`)
			must(t, os.WriteFile(file, []byte(edited), 0o666))
			if step, err := s.Next(t.Context(), "42", false); err != nil || len(step.Outdated) > 0 {
				t.Errorf("next = %+v, %v with an edited file, want none outdated", step, err)
			}
			if _, err := s.RestoreStage(t.Context(), "42", "implement"); !errors.Is(err, handoff.Conflict) {
				t.Errorf("RestoreStage = %v, want Conflict for an edit", err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != edited {
				t.Errorf("an edited file became %q, %v", got, err)
			}
			must(t, os.Remove(file))
			if _, err := s.RestoreStage(t.Context(), "42", "implement"); err != nil {
				t.Errorf("RestoreStage = %v for a missing file", err)
			}
			if _, err := s.RestoreStage(t.Context(), "43", "implement"); !errors.Is(err, handoff.NotFound) {
				t.Errorf("RestoreStage = %v, want NotFound without a run", err)
			}
		})
	}
}
