package progress_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/pipeline"
)

// TestRunsFuzzed changes the runs of two issues at random, with Put and by hand.
// After each change it checks that Next has an answer and that the history ends
// with the content of the folder; at the end, that no submission was lost.
func TestRunsFuzzed(t *testing.T) {
	t.Parallel()
	runs := 1
	if os.Getenv("HANDOFF_LONG") != "" {
		runs = 200
	}
	for seed := range runs {
		f := &fuzzedRuns{T: t, fixture: newFixture(t), random: rand.New(rand.NewPCG(uint64(seed), 7)),
			given: map[string]bool{}}
		for range 25 {
			f.step()
			f.check()
		}
		f.checkAll()
	}
}

type fuzzedRuns struct {
	*testing.T
	fixture
	random *rand.Rand
	given  map[string]bool // submissions, as "issue stage body"
	log    []string
	count  int
}

func (f *fuzzedRuns) pick(list ...string) string { return list[f.random.IntN(len(list))] }

func (f *fuzzedRuns) artifact(stage string) string {
	f.count++
	fields := fmt.Sprintf(`"cost_estimate":"%d"`, f.random.IntN(3)+f.count*f.random.IntN(2))
	switch {
	case stage == "test" && f.random.IntN(2) == 0:
		fields += "," + fail
	case stage == "implement" && f.random.IntN(4) == 0:
		fields += `,"status":"blocked"`
	}
	return change(f, valid[stage], fields)
}

func (f *fuzzedRuns) step() {
	issue, stage := f.pick("42", "43"), f.pick("plan", "implement", "test", "debug", "review", "git")
	file := filepath.Join(f.dir, ".pipeline", issue,
		map[string]string{"plan": "plan.json", "implement": "worker-result.json", "test": "test-result.json",
			"debug": "debug-diagnosis.json", "review": "review-result.json", "git": "git-result.json"}[stage])
	ctx := f.Context()
	var err error
	what := f.pick("put", "put", "put", "put", "write", "break", "remove", "archive", "unarchive", "withdraw")
	f.log = append(f.log, what+" "+issue+" "+stage)
	switch what {
	case "put":
		body := f.artifact(stage)
		if _, err = f.Put(ctx, progress.Submission{Issue: issue, Stage: stage, Body: []byte(body)}); err == nil {
			f.given[issue+" "+stage+" "+compact(body)] = true
		}
	case "write", "break":
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			return
		}
		body := f.artifact(stage)
		if what == "break" {
			body = f.pick("", "{", "[]", `{"verdict":7}`)
		}
		err = os.WriteFile(file, []byte(body), 0o666)
	case "remove":
		if err = os.Remove(file); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	case "archive":
		_, err = f.Archive(ctx, issue, pipeline.ArchiveOptions{Force: f.random.IntN(2) == 0})
	case "unarchive":
		_, err = f.Unarchive(ctx, f.pick(issue, issue+".2"))
	case "withdraw":
		revisions, _ := names.Revisions(ctx, f.w.Hub(), issue, filepath.Base(file))
		if len(revisions) > 0 {
			_, err = f.w.Withdraw(ctx, revisions[f.random.IntN(len(revisions))].ID, "")
		}
	}
	if err != nil && !errors.Is(err, handoff.NotFound) && !errors.Is(err, handoff.Conflict) {
		f.Fatalf("%v: %v", f.log, err)
	}
}

func compact(body string) string { return strings.Join(strings.Fields(body), "") }

func (f *fuzzedRuns) check() {
	for _, issue := range []string{"42", "43"} {
		s, err := f.Find(f.Context(), issue)
		if errors.Is(err, handoff.NotFound) {
			continue
		}
		must(f, err)
		if step := progress.Next(f.Pipeline, s); step.Reason == "" || step.Stage == "" && step.Agent == "" && !step.Done {
			f.Fatalf("%v: %+v", f.log, step)
		}
		current := map[string]bool{}
		for _, a := range progress.HistoryOf(f.Pipeline, s) {
			if a.Current && current[a.Stage] {
				f.Fatalf("%v: two attempts of %s are current", f.log, a.Stage)
			}
			current[a.Stage] = current[a.Stage] || a.Current
		}
		for stage, out := range s.Outputs {
			if !current[stage] {
				f.Fatalf("%v: %s exists and no attempt is current", f.log, out.File)
			}
		}
		progress.OverviewOf(f.Pipeline, s)
	}
}

// checkAll looks for every submission among the revisions.
func (f *fuzzedRuns) checkAll() {
	page, err := f.w.Hub().Artifacts(f.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	must(f, err)
	stored := map[string]bool{}
	for _, a := range page.Artifacts {
		b, err := f.w.Hub().Open(f.Context(), a.ID)
		must(f, err)
		text, err := io.ReadAll(b)
		must(f, errors.Join(err, b.Close()))
		stored[a.Namespace+" "+a.Channel+" "+compact(string(text))] = true
	}
	for what := range f.given {
		if !stored[what] {
			f.Errorf("%v: lost %s", f.log, what)
		}
	}
}
