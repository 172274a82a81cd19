package pipeline_test

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// as returns the runs of a fixture on behalf of a session.
func (s fixture) as(session string) fixture {
	runs := *s.Runs
	runs.Hub = s.w.Hub().As(handoff.Producer{Session: session})
	return fixture{&runs, s.w, s.dir}
}

// TestRivals has two testers test the same change: a person decides, neither result is
// lost, and both together are one attempt.
func TestRivals(t *testing.T) {
	const fail = `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`
	for _, ticketed := range []bool{true, false} {
		s := newFixture(t)
		s.put(t, "1", "plan", valid["plan"])
		s.put(t, "1", "implement", valid["implement"])
		given := ""
		if ticketed {
			given = s.ticket(t, "1")
		}
		a, b := s.as("a"), s.as("b")
		must(t, a.putTicket(t, "1", "test", fail, given))
		must(t, b.putTicket(t, "1", "test", valid["test"], given))
		step, err := s.Runs.Next(t.Context(), "1", false)
		must(t, err)
		if len(step.Decide) != 2 || step.Stage != "" || step.Decide[0].Outcome != "FAIL" || step.Decide[1].Outcome != "PASS" {
			t.Fatalf("next is %+v, want to decide between FAIL and PASS", step)
		}
		for i, want := range []string{"review", "debug"} {
			_, err := s.w.Withdraw(t.Context(), step.Decide[i].ID, "")
			must(t, err)
			if got, err := s.Runs.Next(t.Context(), "1", false); err != nil || got.Stage != want {
				t.Errorf("without %s next is %q, %v, want %s", step.Decide[i].Outcome, got.Stage, err, want)
			}
			if i == 0 { // the FAIL again, and then without the PASS
				must(t, a.putTicket(t, "1", "test", fail, given))
				step, err = s.Runs.Next(t.Context(), "1", false)
				must(t, err)
				if len(step.Decide) != 2 {
					t.Fatalf("next is %+v, want to decide again", step)
				}
				step.Decide[1] = step.Decide[0]
			}
		}
	}
}

// TestReplaced has one tester correct its result, and two agree.
func TestReplaced(t *testing.T) {
	s := newFixture(t)
	s.put(t, "1", "plan", valid["plan"])
	s.put(t, "1", "implement", valid["implement"])
	a := s.as("a")
	a.put(t, "1", "test", `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`)
	a.put(t, "1", "test", valid["test"])
	s.as("b").put(t, "1", "test", valid["test"])
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "review" {
		t.Errorf("next is %+v, %v, want review", step, err)
	}
}

// TestRivalsCountOnce has three workers implement the plan at once: the retries of implement
// are left.
func TestRivalsCountOnce(t *testing.T) {
	s := newFixture(t)
	s.put(t, "1", "plan", valid["plan"])
	for _, session := range []string{"a", "b", "c"} {
		s.as(session).put(t, "1", "implement", strings.Replace(valid["implement"], `"summary"`, `"`+session+`":1,"summary"`, 1))
	}
	step, err := s.Runs.Next(t.Context(), "1", false)
	must(t, err)
	if len(step.Decide) != 3 {
		t.Fatalf("next is %+v, want to decide between 3", step)
	}
	// The plan changes, so nobody has to decide.
	s.put(t, "1", "plan", strings.Replace(valid["plan"], "{", `{"risk_notes":[],`, 1))
	s.put(t, "1", "implement", valid["implement"])
	s.put(t, "1", "test", `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`)
	s.put(t, "1", "debug", valid["debug"])
	if step, err = s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "implement" {
		t.Errorf("next is %+v, %v, want implement", step, err)
	}
	if trace, err := s.Trace(t.Context(), "1"); err != nil || trace.Retries["implement"] != 1 {
		t.Errorf("retries %v, %v, want 1 of implement", trace.Retries, err)
	}
}
