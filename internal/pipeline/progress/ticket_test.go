package progress_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

func (s fixture) ticket(t testing.TB, issue string) string {
	t.Helper()
	step, err := s.Runs.Next(t.Context(), issue, false)
	must(t, err)
	return step.Ticket
}

func (s fixture) putTicket(t testing.TB, issue, stage, artifact, ticket string) error {
	t.Helper()
	_, err := s.Put(t.Context(), progress.Submission{Issue: issue, Stage: stage, Body: []byte(artifact), Ticket: ticket})
	return err
}

// TestTicket submits a review of a change that was replaced while it was read: the review
// is of the first change, and it is stale. Without the ticket it would pass the second.
func TestTicket(t *testing.T) {
	s := newFixture(t)
	for _, stage := range []string{"plan", "implement", "test"} {
		s.put(t, "1", stage, valid[stage])
	}
	given := s.ticket(t, "1")
	s.put(t, "1", "implement", strings.Replace(valid["implement"], `"summary"`, `"again":1,"summary"`, 1))
	s.put(t, "1", "test", valid["test"])
	must(t, s.putTicket(t, "1", "review", valid["review"], given))
	got, want := s.history(t, "1"), "review#1<implement#1+plan#1+test#1"
	if !strings.HasSuffix(got, want) {
		t.Errorf("history %s, want it to end with %s", got, want)
	}
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "review" {
		t.Errorf("next is %q, %v, want review", step.Stage, err)
	}
	before := s.ticket(t, "1")
	must(t, s.putTicket(t, "1", "review", valid["review"], before))
	state, err := s.Find(t.Context(), "1")
	must(t, err)
	for _, a := range progress.HistoryOf(s.Pipeline, state) {
		if want := a.Stage == "implement" || a.Stage == "test"; a.Assumed != want {
			t.Errorf("%s#%d: assumed %t, want %t", a.Stage, a.Attempt, a.Assumed, want)
		}
	}
}

// TestTicketByHand gives out the ticket of a file that has no record.
func TestTicketByHand(t *testing.T) {
	s := newFixture(t)
	s.write(t, ".pipeline/1/plan.json", valid["plan"])
	given := s.ticket(t, "1")
	s.write(t, ".pipeline/1/plan.json", strings.Replace(valid["plan"], "{", `{"risk_notes":[],`, 1))
	must(t, s.putTicket(t, "1", "implement", valid["implement"], given))
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "implement" {
		t.Errorf("next is %q, %v, want implement: its plan has changed", step.Stage, err)
	}
}

// TestRecordedAfterHand records a stage after three that were written by hand: nothing
// is known to have changed since.
func TestRecordedAfterHand(t *testing.T) {
	s := newFixture(t)
	s.write(t, ".pipeline/1/plan.json", valid["plan"])
	s.write(t, ".pipeline/1/worker-result.json", valid["implement"])
	s.write(t, ".pipeline/1/test-result.json", strings.Replace(valid["test"], "PASS", "FAIL", 1))
	s.put(t, "1", "test", valid["test"])
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || step.Stage != "review" {
		t.Errorf("next is %q because of %q, %v, want review", step.Stage, step.Reason, err)
	}
}

func TestTicketRefused(t *testing.T) {
	s := newFixture(t)
	for _, issue := range []string{"1", "2"} {
		s.put(t, issue, "plan", valid["plan"])
	}
	own, other := s.ticket(t, "1"), s.ticket(t, "2")
	decode := func(ticket string) string {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(ticket, "t1."))
		must(t, err)
		return string(b)
	}
	forge := func(old, with string) string {
		text := decode(own)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", text, old)
		}
		return "t1." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(text, old, with, 1)))
	}
	state, err := s.Find(t.Context(), "2")
	must(t, err)
	mine, err := s.Find(t.Context(), "1")
	must(t, err)
	before, err := s.w.Hub().Newest(t.Context())
	must(t, err)
	digest := mine.Attempts[0].Digest
	for _, tt := range []struct{ name, stage, ticket string }{
		{"not a ticket", "implement", "x"},
		{"cut", "implement", own[:len(own)-3]},
		{"of another version", "implement", "t2." + own[3:]},
		{"not JSON", "implement", "t1.e30x"},
		{"too large", "implement", "t1." + strings.Repeat("e", 1<<20)},
		{"of another issue", "implement", other},
		{"of another stage", "test", own},
		{"an input of another issue", "implement", forge(mine.Attempts[0].ID, state.Attempts[0].ID)},
		{"an unknown input", "implement", forge(mine.Attempts[0].ID, "01JZZZZZZZZZZZZZZZZZZZZZZZ")},
		{"another digest", "implement", forge(digest, strings.Repeat("0", 64))},
		{"no digest", "implement", forge(digest, "../x")},
		{"an input without a stage", "implement", forge(`"stage":"plan"`, `"stage":"none"`)},
		{"an input of another stage", "implement", forge(`"stage":"plan"`, `"stage":"test"`)},
		{"its own stage", "implement", forge(`"stage":"plan"`, `"stage":"implement"`)},
		{"of the planner's state", "state", own},
	} {
		body := valid[tt.stage]
		if tt.stage == "state" {
			body = "issue: 1\nstatus: in_progress\n"
		}
		if err := s.putTicket(t, "1", tt.stage, body, tt.ticket); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: %v, want Invalid", tt.name, err)
		}
	}
	_, err = s.Put(t.Context(), progress.Submission{Issue: "1", Stage: "implement", Body: []byte(valid["implement"]),
		Ticket: own, From: []string{mine.Attempts[0].ID}})
	if !errors.Is(err, handoff.Invalid) {
		t.Errorf("with from: %v, want Invalid", err)
	}
	if after, err := s.w.Hub().Newest(t.Context()); err != nil || after != before {
		t.Errorf("newest record %v, %v, want %v", after, err, before)
	}
}

func FuzzTicket(f *testing.F) {
	for _, t := range []string{`{"issue":"9","stage":"plan","attempt":1}`, `{"inputs":[{}]}`} {
		f.Add("t1." + base64.RawURLEncoding.EncodeToString([]byte(t)))
	}
	f.Add("t1.e30")
	f.Fuzz(func(t *testing.T, text string) {
		s := newFixture(t)
		err := s.putTicket(t, "9", "plan", valid["plan"], text)
		if text != "" && err != nil && !errors.Is(err, handoff.Invalid) {
			t.Errorf("%q: %v, want Invalid", text, err)
		}
	})
}
