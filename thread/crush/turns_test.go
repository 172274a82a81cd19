package crush_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/crush"
	"github.com/agent-handoff/handoff/threadtest"
)

// TestTurns removes the rows of generated sessions one by one.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: crush.Driver(), Table: "messages", Setup: func(exec func(string, ...any), home, id string) {
		register(t, home, filepath.Join(home, "project"))
		exec(schema)
		(&book{exec: exec}).session(id, nil, 0)
	}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
		l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
		l.Path = "project/.crush/crush.db"
		return (&book{exec: l.Exec, id: l.ID}).record
	}})
}

// record writes the messages of a step.
func (b *book) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		b.message("user", 0, text(step.Text), finish("stop"))
	case threadtest.Work:
		parts := []obj{text(step.Text)}
		for _, u := range step.Calls {
			parts = append(parts, call(u.ID, "view"))
		}
		b.message("assistant", 0, append(parts, finish("tool_use"))...)
	case threadtest.Result:
		b.message("tool", 0, result(step.Calls[0].ID, step.Text, step.Failed), finish("stop"))
	case threadtest.Answer:
		b.message("assistant", 0, text(step.Text), finish("end_turn"))
	case threadtest.Failure:
		b.message("assistant", 0, finish("error"))
	case threadtest.Interrupt:
		if len(step.Open) == 0 { // otherwise see TestCanceled
			b.message("assistant", 0, text(step.Text), finish("canceled"))
		}
	case threadtest.Compaction:
		b.message("assistant", 1, text(step.Text), finish("end_turn"))
	}
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
