package crush_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/crush"
)

// TestTurns reads generated sessions after each change of their rows.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: crush.Driver(),
		Setup: func(exec func(string, ...any), home, id string) {
			register(t, home, filepath.Join(home, "project"))
			exec(schema)
			(&book{exec: exec}).session(id, nil, 0)
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
			l.Path = "project/.crush/crush.db"
			return (&recorder{book: book{exec: l.Exec, id: l.ID}, log: l}).record
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	book
	log   *threadtest.Log
	last  string // ID of the last answer
	parts []obj  // of it
}

func (r *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		r.message("user", 0, text(step.Text), finish("stop"))
	case threadtest.Work:
		r.answer(step.Text)
		for _, u := range step.Calls {
			r.add(call(u.ID, "view"))
		}
	case threadtest.Result:
		if step.Last {
			defer r.add(finish("tool_use"))
		}
		r.message("tool", 0, result(step.Calls[0].ID, step.Text, step.Failed), finish("stop"))
	case threadtest.Answer:
		r.answer(step.Text)
		r.log.Before()
		r.add(finish("end_turn"))
	case threadtest.Failure:
		r.answer("")
		r.log.Before()
		r.add(finish("error"))
	case threadtest.Interrupt:
		r.cancel(step)
	case threadtest.Compaction:
		r.message("assistant", 1, text(step.Text), finish("end_turn"))
	}
}

// answer writes an answer that has not ended.
func (r *recorder) answer(words string) {
	r.parts = []obj{text(words)}
	r.message("assistant", 0, r.parts...)
	r.last = fmt.Sprintf("msg%03d", r.n)
}

// add adds a part to the last answer.
func (r *recorder) add(part obj) {
	r.parts = append(r.parts, part)
	list, err := handoff.EncodeJSON(r.parts)
	if err != nil {
		panic(err)
	}
	r.exec("UPDATE messages SET parts = ? WHERE id = ?", string(list), r.last)
}

// cancel writes results for the open calls, and then the end of the answer.
func (r *recorder) cancel(step threadtest.Step) {
	if len(step.Open) == 0 {
		r.answer(step.Text)
	}
	for _, u := range step.Open {
		r.message("tool", 0, result(u.ID, "Tool execution canceled by user", true), finish("stop"))
	}
	r.log.Before()
	r.add(finish("canceled"))
}

// TestCanceled cancels calls. The tool adds the end to the answer with the calls, and
// then results for those without one.
func TestCanceled(t *testing.T) {
	for _, reason := range []string{"canceled", "error", "permission_denied"} {
		dir := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			b := &book{exec: exec}
			b.session(doneID, nil, 0)
			b.message("user", 0, text("go"))
			b.message("assistant", 0, text("I look."), call("a", "view"), call("b", "view"), finish(reason))
			b.message("tool", 0, result("a", "text", false))
			b.message("tool", 0, result("b", "Tool execution canceled by user", true))
		}, dir, "project/.crush/crush.db")
		register(t, dir, filepath.Join(dir, "project"))
		if th := threadtest.Load(t, provider(t, dir), doneID); th.State.Status != thread.Errored {
			t.Errorf("%s: got %+v, want errored", reason, th.State)
		}
	}
}
