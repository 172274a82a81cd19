package progress_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

// TestUnchangedWork checks that work that answers a diagnosis is an attempt even
// if its bytes are those of the attempt before, and that the retries end.
func TestUnchangedWork(t *testing.T) {
	s := newFixture(t)
	failing := change(t, valid["test"], fail)
	s.put(t, "42", "plan", valid["plan"])
	for _, want := range []string{"jg-worker implement < plan debug-diagnosis",
		"jg-worker implement < plan debug-diagnosis", "human < plan worker-result test-result debug-diagnosis"} {
		for _, tt := range []struct{ stage, artifact, want string }{
			{"implement", valid["implement"], "jg-tester test < "},
			{"implement", valid["implement"], "jg-tester test < "}, // adds nothing
			{"test", failing, "jg-debugger debug < plan test-result"},
			{"test", failing, "jg-debugger debug < plan test-result"}, // adds nothing
			{"debug", valid["debug"], want},
		} {
			s.put(t, "42", tt.stage, tt.artifact)
			if got := s.next(t, "42"); got != tt.want {
				t.Fatalf("after %s: got %s, want %s", s.history(t, "42"), got, tt.want)
			}
		}
	}
	want := "plan#1 implement#1<plan#1 test#1<implement#1 debug#1<plan#1+test#1 " +
		"implement#2<debug#1+plan#1 test#2<implement#2 debug#2<plan#1+test#2 implement#3<debug#2+plan#1 test#3<implement#3 " +
		"debug#3<plan#1+test#3"
	if got := s.history(t, "42"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUnchangedPlan checks that a plan that answers a diagnosis, a triage or a
// blocked worker is an attempt whatever its bytes, once.
func TestUnchangedPlan(t *testing.T) {
	for name, reject := range map[string]func(s fixture){
		"diagnosis": func(s fixture) {
			s.put(t, "42", "test", change(t, valid["test"], fail))
			s.put(t, "42", "debug", change(t, valid["debug"], `"classification":"plan_defect"`))
		},
		"triage": func(s fixture) {
			s.put(t, "42", "test", change(t, valid["test"], fail+`,"inline_triage":true,"classification":"plan_defect"`))
		},
		"blocked": func(s fixture) { s.put(t, "42", "implement", change(t, valid["implement"], `"status":"blocked"`)) },
	} {
		s := newFixture(t)
		s.put(t, "42", "plan", valid["plan"])
		s.put(t, "42", "implement", valid["implement"])
		reject(s)
		if got := s.next(t, "42"); !strings.HasPrefix(got, "jg-subplanner plan") {
			t.Errorf("%s: got %s, want the subplanner", name, got)
		}
		again, twice := s.put(t, "42", "plan", valid["plan"]), s.put(t, "42", "plan", valid["plan"])
		if again.Existing || !twice.Existing || twice.ID != again.ID {
			t.Errorf("%s: existing %v, then %v, want one new attempt", name, again.Existing, twice.Existing)
		}
		if got := s.next(t, "42"); !strings.HasPrefix(got, "jg-worker implement") {
			t.Errorf("%s: got %s, want the worker", name, got)
		}
	}
}

// TestReviewedAgain checks that a failed review is diagnosed and its findings are fixed
// until the retries of the review are used up.
func TestReviewedAgain(t *testing.T) {
	s := newFixture(t)
	s.put(t, "42", "plan", valid["plan"])
	for _, want := range []string{"jg-debugger", "jg-debugger", "human"} {
		s.put(t, "42", "implement", valid["implement"])
		s.put(t, "42", "test", valid["test"])
		s.put(t, "42", "review", change(t, valid["review"], `"verdict":"FAIL","concerns":[{"file":"a.go","line":1}]`))
		if got, _, _ := strings.Cut(s.next(t, "42"), " "); got != want {
			t.Fatalf("after %s: got %s, want %s", s.history(t, "42"), got, want)
		}
		s.put(t, "42", "debug", valid["debug"])
	}
}

// TestGateRetriesEnd checks that a writer whose artifact fails its gate, or who
// escalates without a higher tier, is asked until the retries are used up.
func TestGateRetriesEnd(t *testing.T) {
	for _, tt := range []struct {
		artifact string
		want     int // attempts
	}{
		{change(t, valid["implement"], `"files_changed":["other.go"]`), 3},
		{change(t, valid["implement"], `"status":"escalate","tier_used":"fast"`), 9},
	} {
		s := newFixture(t)
		s.put(t, "42", "plan", valid["plan"])
		s.put(t, "42", "implement", tt.artifact)
		n := 1
		for ; strings.HasPrefix(s.next(t, "42"), "jg-worker") && n < 20; n++ {
			s.put(t, "42", "implement", tt.artifact)
		}
		if got := s.next(t, "42"); n != tt.want || !strings.HasPrefix(got, contract.Human) {
			t.Errorf("%s: %d attempts, then %s, want %d, then a person", tt.artifact, n, got, tt.want)
		}
	}
}

// TestDriversEnd checks that a driver that submits what Next asks for ends: the
// run is done, a person is next, or an agent that writes no artifact decides. The
// pipelines are the built-in one and random ones; the artifacts are random, and
// some drivers submit the same bytes each time.
func TestDriversEnd(t *testing.T) {
	t.Parallel()
	drivers := 9
	if os.Getenv("HANDOFF_LONG") != "" {
		drivers = 400
	}
	s := newFixture(t)
	for seed := range drivers {
		d := &driver{T: t, fixture: s, random: rand.New(rand.NewPCG(uint64(seed), 8)), issue: fmt.Sprint("i", seed),
			fixed: map[string]string{}}
		if d.custom = seed%3 > 0; d.custom {
			d.Runs = &progress.Runs{Hub: s.Hub, Files: s.Files, Pipeline: d.generate()}
		}
		d.stubborn, d.acceptStale = d.chance(2), d.chance(3)
		if _, err := folder.Init(s.Files, d.issue, ""); err != nil {
			t.Fatal(err)
		}
		d.drive()
	}
}

// A driver follows Next through one run.
type driver struct {
	*testing.T
	fixture
	random      *rand.Rand
	issue       string
	config      string // of a generated pipeline
	custom      bool
	stubborn    bool // it submits the same artifact for a stage each time
	acceptStale bool
	fixed       map[string]string
	log         []string
}

func (d *driver) chance(n int) bool { return d.random.IntN(n) == 0 }

func (d *driver) pick(list ...string) string { return list[d.random.IntN(len(list))] }

// generate returns a random pipeline that Parse accepts.
func (d *driver) generate() *contract.Pipeline {
	stages := []string{"plan", "implement", "test", "debug", "review", "git"}
	var b strings.Builder
	b.WriteString("stages:\n")
	for i := range d.random.IntN(4) {
		name := fmt.Sprint("extra", i)
		fmt.Fprintf(&b, "  - {id: %s, writes: %s.json, by: w%d, needs: [%s], format: {schema: {type: object}}, detour: %v, "+
			"readers: [%s, %s]}\n",
			name, name, d.random.IntN(3), d.pick(stages...), d.chance(3), d.pick("w0", "jg-worker", "jg-tester"),
			d.pick("w1", "jg-debugger", "jg-subplanner"))
		stages = append(stages, name)
	}
	for _, name := range stages {
		fmt.Fprintf(&b, "  - id: %s\n    retries: %d\n    optional: %v\n", name, d.random.IntN(3), d.chance(4))
		if d.chance(3) && valid[name] != "" {
			continue // with the routes of the built-in stage
		}
		b.WriteString("    on:\n")
		for outcome := range 1 + d.random.IntN(3) {
			fmt.Fprintf(&b, "      - {when: {result: %d}, ", outcome)
			if d.chance(8) {
				fmt.Fprintf(&b, "ask: %s}\n", d.pick("human", "jg-planner"))
			} else {
				fmt.Fprintf(&b, "to: %s, escalate: %v}\n", d.pick(stages...), d.chance(4))
			}
		}
	}
	d.config = b.String()
	p, err := changed(d.config)
	if err != nil {
		d.Fatalf("%v\n%s", err, d.config)
	}
	return p
}

// artifact returns a valid artifact of a stage, which may fail its gate.
func (d *driver) artifact(stage string) string {
	if d.stubborn && d.fixed[stage] != "" {
		return d.fixed[stage]
	}
	fields := `"tier_used":"` + d.pick("fast", "standard", "high") + `"`
	base := valid[stage]
	if base == "" {
		base = "{}"
		fields = fmt.Sprintf(`"tier_used":"t%d"`, d.random.IntN(1000))
		fields += d.pick("", `,"verdict":"FAIL"`, `,"verdict":"escalate"`)
	}
	if d.chance(3) {
		fields = `"cost_estimate":"none"` // without a tier
	}
	if d.custom {
		fields += fmt.Sprintf(`,"result":%d`, d.random.IntN(4))
	}
	if !d.stubborn && d.chance(2) {
		fields += fmt.Sprintf(`,"cost_estimate":"%d"`, d.random.IntN(1000))
	}
	switch stage {
	case "plan":
		fields += d.pick("", "", `,"affected_files":["b.go"]`, `,"complexity":"complex"`)
	case "implement":
		fields += d.pick("", "", `,"status":"blocked"`, `,"status":"escalate"`, `,"files_changed":["b.go"]`)
	case "test":
		fields += d.pick("", ","+fail, ","+fail, `,"verdict":"FAIL"`,
			","+fail+`,"inline_triage":true,"classification":"fix_target"`,
			","+fail+`,"inline_triage":true,"classification":"plan_defect"`, `,"verdict":"SKIP"`)
	case "debug":
		fields += d.pick("", "", `,"classification":"plan_defect"`, `,"classification":"escalate"`)
	case "review":
		fields += d.pick("", `,"verdict":"FAIL"`, `,"verdict":"FAIL","blockers":[{"file":"a.go","line":1}]`)
	}
	d.fixed[stage] = change(d, base, fields)
	return d.fixed[stage]
}

// bound returns the maximum number of submissions of a run: each stage is done
// once, up to its retries in each tier, and once for each attempt of an earlier
// stage.
func bound(p *contract.Pipeline) int {
	total := 0
	for _, stage := range p.Stages {
		total += 1 + 3*(stage.Retries+1) + total
	}
	return total
}

func (d *driver) drive() {
	for range bound(d.Pipeline) {
		state, err := d.Read(d.Context(), d.issue)
		must(d, err)
		state.AcceptStale = d.acceptStale
		step := progress.Next(d.Pipeline, state)
		stage := step.Stage
		if stage == "" {
			return
		}
		r := d.put(d, d.issue, stage, d.artifact(stage))
		d.log = append(d.log, fmt.Sprintf("%s: %s", stage, step.Reason))
		if out, ok := state.Outputs[stage]; r.Existing && ok && out.File == r.Name {
			d.Fatalf("%s: the submission that next asks for adds nothing\n%s\n%s", d.issue, strings.Join(d.log, "\n"), d.config)
		}
	}
	d.Fatalf("%s: no end after %d submissions; the last ones:\n%s\n%s", d.issue, len(d.log),
		strings.Join(slices.Concat(d.log[max(0, len(d.log)-12):]), "\n"), d.config)
}
