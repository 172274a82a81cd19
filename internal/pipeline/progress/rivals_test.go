package progress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

// as returns the runs of a fixture on behalf of a session.
func (s fixture) as(session string) fixture {
	return s.caller(handoff.Producer{Session: session})
}

// TestRivals has two testers test the same change: a person decides, neither result is
// lost, and both together are one attempt.
func TestRivals(t *testing.T) {
	const fail = `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`
	for _, ticketed := range []bool{true, false} {
		for i, want := range []string{"review", "debug"} {
			s := newFixture(t)
			s.put(t, "1", "plan", valid["plan"])
			s.put(t, "1", "implement", valid["implement"])
			given := ""
			if ticketed {
				given = s.ticket(t, "1")
			}
			must(t, s.as("a").putTicket(t, "1", "test", fail, given))
			must(t, s.as("b").putTicket(t, "1", "test", valid["test"], given))
			step, err := s.Runs.Next(t.Context(), "1", false)
			must(t, err)
			if len(step.Decide) != 2 || step.Stage != "" ||
				step.Decide[0].Outcome != "FAIL" || step.Decide[1].Outcome != "PASS" {
				t.Fatalf("next is %+v, want to decide between FAIL and PASS", step)
			}
			_, err = s.w.Withdraw(t.Context(), step.Decide[i].ID, "")
			must(t, err)
			if got, err := s.Runs.Next(t.Context(), "1", false); err != nil || got.Stage != want {
				t.Errorf("without %s next is %q, %v, want %s", step.Decide[i].Outcome, got.Stage, err, want)
			}
		}
	}
}

// TestReplaced has one tester correct its result, and then agree with another one.
func TestReplaced(t *testing.T) {
	const fail = `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`
	s := newFixture(t)
	s.put(t, "1", "plan", valid["plan"])
	s.put(t, "1", "implement", valid["implement"])
	a, b := s.as("a"), s.as("b")
	for i, put := range []struct {
		by   fixture
		test string
		want string // the stage that is next, "" to decide
	}{{a, fail, "debug"}, {a, valid["test"], "review"}, {a, fail, "debug"},
		{b, valid["test"], ""}, {a, valid["test"], "review"}} {
		put.by.put(t, "1", "test", put.test)
		if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != put.want {
			t.Errorf("result %d: next is %+v, %v, want %q", i, step, err, put.want)
		}
	}
}

// TestAgentLater submits an artifact again to say whose it is.
func TestAgentLater(t *testing.T) {
	s := newFixture(t)
	runs := *s.Runs
	runs.Hub = s.w.Hub().As(handoff.Producer{})
	fixture{&runs, s.w, s.dir}.put(t, "1", "plan", valid["plan"])
	runs.Hub = s.w.Hub().As(handoff.Producer{Agent: "jg-subplanner"})
	for _, existing := range []bool{false, true} {
		r, err := runs.Put(t.Context(), progress.Submission{Issue: "1", Stage: "plan", Agent: "jg-subplanner",
			Body: []byte(valid["plan"])})
		must(t, err)
		if r.Producer.Agent != "jg-subplanner" || r.Existing != existing {
			t.Errorf("agent %q, existing %t, want %t", r.Producer.Agent, r.Existing, existing)
		}
	}
}

// TestRivalsCountOnce has three workers implement the plan at once: the retries of implement
// are left.
func TestRivalsCountOnce(t *testing.T) {
	s := newFixture(t)
	s.put(t, "1", "plan", valid["plan"])
	for _, session := range []string{"a", "b", "c"} {
		result := strings.Replace(valid["implement"], `"summary"`, `"`+session+`":1,"summary"`, 1)
		s.as(session).put(t, "1", "implement", result)
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
	if got := s.retries(t, "1"); !strings.Contains(got, "implement 1") {
		t.Errorf("retries %q, want 1 of implement", got)
	}
}

// TestTicketLate has a second tester submit for the first attempt after the change was
// done again: both results are of that attempt, so the retries of test are left.
func TestTicketLate(t *testing.T) {
	const fail = `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`
	s := newFixture(t)
	s.put(t, "1", "plan", valid["plan"])
	s.put(t, "1", "implement", valid["implement"])
	given := s.ticket(t, "1")
	must(t, s.as("a").putTicket(t, "1", "test", fail, given))
	s.put(t, "1", "debug", valid["debug"])
	s.put(t, "1", "implement", strings.Replace(valid["implement"], `"summary"`, `"again":1,"summary"`, 1))
	must(t, s.as("b").putTicket(t, "1", "test", valid["test"], given))
	if got := s.retries(t, "1"); strings.Contains(got, "test") {
		t.Errorf("retries %q, want none of test", got)
	}
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "test" {
		t.Errorf("next is %+v, %v, want test", step, err)
	}
}

// retries returns the stages of a run that were retried, each with the number.
func (s fixture) retries(t *testing.T, issue string) string {
	t.Helper()
	notes, err := s.Notes(t.Context(), issue)
	must(t, err)
	var list []string
	for _, r := range notes.Retries {
		list = append(list, fmt.Sprint(r.Stage, " ", r.Count))
	}
	return strings.Join(list, ", ")
}
