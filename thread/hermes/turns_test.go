package hermes_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/hermes"
)

// TestTurns reads generated sessions after each change of their rows.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: hermes.Driver(), Asks: true,
		Setup: func(exec func(string, ...any), _, id string) {
			exec(schema)
			(&book{exec: exec}).session(id, nil, nil, "", 0)
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("20260802_210900_%06x", n)
			l.Path = ".hermes/state.db"
			return (&book{exec: l.Exec, id: l.ID, at: 1785704940.5}).record
		}})
}

// record writes the messages of a step.
func (b *book) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		b.message("user", step.Text, "")
	case threadtest.Work:
		b.message("assistant", step.Text, "tool_calls", calls(step.Calls))
	case threadtest.Result:
		b.message("tool", step.Text, "", "", step.Calls[0].ID)
	case threadtest.Answer:
		b.message("assistant", step.Text, "stop")
	case threadtest.Failure:
		b.message("assistant", "", "content_filter")
	case threadtest.Interrupt, threadtest.Compaction: // not known; a compression starts another session
	}
}

func calls(uses []threadtest.Use) string {
	var list []any
	for _, u := range uses {
		tool := "terminal"
		if u.Asks {
			tool = "clarify"
		}
		list = append(list, map[string]any{"id": u.ID, "type": "function",
			"function": map[string]any{"name": tool, "arguments": "{}"}})
	}
	b, err := handoff.EncodeJSON(list)
	if err != nil {
		panic(err)
	}
	return string(b)
}
