package progress_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
)

// running concludes that work without an end goes on.
func running(_ context.Context, list []handoff.Work) []handoff.Work {
	for i := range list {
		list[i].Status = handoff.Running
	}
	return list
}

// caller returns the runs of a fixture on behalf of a caller, whose session is one of handoff.
func (s fixture) caller(p handoff.Producer) fixture {
	runs := *s.Runs
	runs.Producer, runs.Session, runs.Hub = p, p.Session, s.w.Hub().As(p)
	return fixture{&runs, s.w, s.dir}
}

func (s fixture) start(issue, stage string, again bool) (pipeline.Step, error) {
	return s.Runs.Start(context.Background(), issue, stage, again)
}

// reviewable returns a fixture whose run 1 waits for the review.
func reviewable(t *testing.T) fixture {
	s := newFixture(t)
	for _, stage := range []string{"plan", "implement", "test"} {
		s.put(t, "1", stage, valid[stage])
	}
	return s
}

// TestStart submits a review of a change that was replaced while it was read, without its
// ticket: the work that was started has it.
func TestStart(t *testing.T) {
	s := reviewable(t)
	a := s.as("a")
	ticket := s.ticket(t, "1")
	done, err := a.start("1", "review", false)
	must(t, err)
	if done.Ticket != ticket || len(done.Warnings) > 0 {
		t.Errorf("started with ticket %s, warnings %v, want %s of next", done.Ticket, done.Warnings, ticket)
	}
	before, err := s.w.Hub().Newest(t.Context())
	must(t, err)
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || len(step.Open) != 1 ||
		step.Open[0].ID != done.Open[0].ID ||
		!strings.Contains(step.String(), "\nopen    an agent without a name in a since 2") {
		t.Errorf("next is %s, %v, want the open work %s", step, err, done.Open[0].ID)
	}
	if after, err := s.w.Hub().Newest(t.Context()); err != nil || after != before {
		t.Errorf("next stored a record: %v, %v, want %v", after, err, before)
	}
	s.put(t, "1", "implement", strings.Replace(valid["implement"], `"summary"`, `"again":1,"summary"`, 1))
	s.put(t, "1", "test", valid["test"])
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || len(step.Open) != 0 {
		t.Errorf("next is %s, %v, want no open work: another change is to be reviewed", step, err)
	}
	a.put(t, "1", "review", valid["review"])
	if got, want := s.history(t, "1"), "review#1<implement#1+plan#1+test#1"; !strings.HasSuffix(got, want) {
		t.Errorf("history %s, want it to end with %s", got, want)
	}
	if w, err := s.w.Hub().Work(t.Context(), "handoff", done.Open[0].ID); err != nil || w.Status != session.Completed {
		t.Errorf("work %+v, %v, want completed", w, err)
	}
	a.put(t, "1", "review", change(t, valid["review"], `"nits":[{}]`))
	if got := s.history(t, "1"); strings.HasSuffix(got, "implement#1+plan#1+test#1") {
		t.Errorf("history %s, want the second review to be of what is current", got)
	}
}

// TestStartAgain starts a stage whose work is open.
func TestStartAgain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(s *fixture)
		refused bool
	}{
		{"open", func(*fixture) {}, true},
		{"older than 30 minutes", func(s *fixture) {
			s.Runs.Now = func() time.Time { return time.Now().Add(lifecycle.StalledAfter + time.Minute) }
		}, false},
		{"29 minutes", func(s *fixture) {
			s.Runs.Now = func() time.Time { return time.Now().Add(lifecycle.StalledAfter - time.Minute) }
		}, true},
		{"its process is gone", func(s *fixture) {
			s.Runs.Conclude = func(_ context.Context, list []handoff.Work) []handoff.Work {
				for i := range list {
					list[i].Status = session.Failed
				}
				return list
			}
		}, false},
		{"another input", func(s *fixture) { s.put(t, "1", "plan", change(t, valid["plan"], `"risk_notes":[]`)) }, false},
		{"it ended", func(s *fixture) { s.as("a").put(t, "1", "review", valid["review"]) }, false},
	} {
		s := reviewable(t)
		_, err := s.as("a").start("1", "review", false)
		must(t, err)
		b := s.as("b")
		tt.change(&b)
		before, err := s.w.Hub().Newest(t.Context())
		must(t, err)
		_, err = b.start("1", "review", false)
		if refused := errors.Is(err, handoff.Conflict); refused != tt.refused || err != nil && !refused {
			t.Errorf("%s: %v, want refused %t", tt.name, err, tt.refused)
		}
		if after, err := s.w.Hub().Newest(t.Context()); err != nil || (after == before) != tt.refused {
			t.Errorf("%s: newest record %v, before %v, %v", tt.name, after, before, err)
		}
		if _, err := b.start("1", "review", true); err != nil {
			t.Errorf("%s, again: %v", tt.name, err)
		}
	}
}

// TestStartByNobody starts a stage twice from a shell that no agent runs.
func TestStartByNobody(t *testing.T) {
	s := reviewable(t).caller(handoff.Producer{Harness: "unknown", Source: handoff.FromNone})
	first, err := s.start("1", "review", false)
	must(t, err)
	if step, err := s.Runs.Next(t.Context(), "1", false); err != nil || len(step.Open) != 1 ||
		step.Open[0].ID != first.Open[0].ID {
		t.Errorf("next is %s, %v, want the open work %s", step, err, first.Open[0].ID)
	}
	if _, err := s.start("1", "review", false); !errors.Is(err, handoff.Conflict) {
		t.Errorf("second start: %v, want %v", err, handoff.Conflict)
	}
	if step, err := s.start("1", "review", true); err != nil || len(step.Open) != 2 {
		t.Errorf("second start, again: %+v, %v, want two open", step.Open, err)
	}
}

// TestStartRefused checks what can't be started, and a stage that is not the next one.
func TestStartRefused(t *testing.T) {
	s := reviewable(t)
	tester := s.caller(handoff.Producer{Agent: "jg-tester"})
	for _, tt := range []struct {
		issue, stage string
		want         handoff.Kind
	}{{"1", "review", handoff.Invalid}, {"1", "none", handoff.Invalid}, {"1", "state", handoff.Invalid},
		{"2", "test", handoff.NotFound}, {"../x", "test", handoff.Invalid}} {
		if _, err := tester.start(tt.issue, tt.stage, false); !errors.Is(err, tt.want) {
			t.Errorf("start %s %s: %v, want %v", tt.issue, tt.stage, err, tt.want)
		}
	}
	done, err := tester.start("1", "test", false)
	if err != nil || len(done.Warnings) != 1 || done.Stage != "test" || done.Ticket == "" {
		t.Errorf("start of a stage that is not next: %+v, %v, want one warning", done, err)
	}
}

// TestStartedBy checks whose work an artifact is the result of.
func TestStartedBy(t *testing.T) {
	caller := func(run, session, thread, agent string) handoff.Producer {
		if thread != "" {
			thread = "agents://claude/" + thread
		}
		return handoff.Producer{RunID: run, Session: session, Thread: thread, Agent: agent}
	}
	for _, tt := range []struct {
		name    string
		by, put handoff.Producer
		own     bool
	}{
		{"same session", caller("", "s", "", ""), caller("", "s", "", "jg-reviewer"), true},
		{"another session", caller("", "s", "", "jg-reviewer"), caller("", "z", "", "jg-reviewer"), false},
		{"a run in it", caller("", "s", "", ""), caller("r", "s", "", ""), true},
		{"another run in it", caller("r", "s", "", ""), caller("q", "s", "", ""), false},
		{"a subagent", caller("", "", "t", ""), caller("", "", "t/a", "jg-reviewer"), true},
		{"the main agent", caller("", "", "t/a", ""), caller("", "", "t", ""), true},
		{"another subagent", caller("", "", "t/a", ""), caller("", "", "t/b", ""), false},
		{"another thread", caller("", "", "t", "jg-reviewer"), caller("", "", "tt", "jg-reviewer"), false},
		{"the agent", caller("", "s", "", "jg-reviewer"), caller("", "", "", "jg-reviewer"), true},
		{"the agent in a session", caller("", "", "", "jg-reviewer"), caller("", "s", "t", "jg-reviewer"), true},
		{"nobody", caller("", "", "", ""), caller("", "", "", ""), false},
	} {
		s := reviewable(t)
		_, err := s.caller(tt.by).start("1", "review", false)
		must(t, err)
		s.put(t, "1", "implement", change(t, valid["implement"], `"summary":"2"`))
		agent := tt.put.Agent
		_, err = s.caller(tt.put).Put(t.Context(), progress.Submission{Issue: "1", Stage: "review", Agent: agent,
			Body: []byte(valid["review"])})
		must(t, err)
		if own := strings.HasSuffix(s.history(t, "1"), "<implement#1+plan#1+test#1"); own != tt.own {
			t.Errorf("%s: history %s, want the inputs of the work %t", tt.name, s.history(t, "1"), tt.own)
		}
	}
}

// TestStartedByOwnThread has two subagents of one session review: each ends its own work.
func TestStartedByOwnThread(t *testing.T) {
	s := reviewable(t)
	sub := func(id string) fixture {
		return s.caller(handoff.Producer{Session: "s", Thread: "agents://claude/t/" + id})
	}
	_, err := sub("a").start("1", "review", false)
	must(t, err)
	second, err := sub("b").start("1", "review", true)
	must(t, err)
	sub("a").put(t, "1", "review", valid["review"])
	if w, err := s.w.Hub().Work(t.Context(), "handoff", second.Open[1].ID); err != nil || w.Ended != 0 {
		t.Errorf("work %+v, %v, want that of the other subagent open", w, err)
	}
}

// TestStartedBySubagent has two threads of one session review: what a subagent of one submits
// is the result of that one's work.
func TestStartedBySubagent(t *testing.T) {
	s := reviewable(t)
	in := func(thread string) fixture {
		return s.caller(handoff.Producer{Session: "s", Thread: "agents://claude/" + thread})
	}
	_, err := in("t").start("1", "review", false)
	must(t, err)
	s.put(t, "1", "implement", change(t, valid["implement"], `"summary":"2"`))
	second, err := in("u").start("1", "review", true)
	must(t, err)
	in("t/a").put(t, "1", "review", valid["review"])
	if got := s.history(t, "1"); !strings.HasSuffix(got, "<implement#1+plan#1+test#1") {
		t.Errorf("history %s, want the inputs of the work of the subagent's thread", got)
	}
	if w, err := s.w.Hub().Work(t.Context(), "handoff", second.Open[0].ID); err != nil || w.Ended != 0 {
		t.Errorf("work %+v, %v, want that of the other thread open", w, err)
	}
}

// TestStartAfterArchive starts the first stage of an issue whose earlier run was archived
// while work on it was open.
func TestStartAfterArchive(t *testing.T) {
	s := newFixture(t)
	_, err := s.Runs.Init(t.Context(), "1", "", "")
	must(t, err)
	first, err := s.as("a").start("1", "plan", false)
	must(t, err)
	_, err = s.Runs.Archive(t.Context(), "1", pipeline.ArchiveOptions{Force: true})
	must(t, err)
	_, err = s.Runs.Init(t.Context(), "1", "", "")
	must(t, err)
	if step, err := s.as("b").start("1", "plan", false); err != nil || len(step.Open) != 1 {
		t.Errorf("start in the new run: %+v, %v, want no open work but its own", step.Open, err)
	}
	if w, err := s.w.Hub().Work(t.Context(), "handoff", first.Open[0].ID); err != nil || w.Status != session.Cancelled {
		t.Errorf("work %+v, %v, want it cancelled", w, err)
	}
}
