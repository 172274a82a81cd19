package kiro_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/kiro"
)

// TestTurns truncates generated sessions at every record. Failures, interruptions and
// compactions are not in this file.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: kiro.Driver(),
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
			l.Path = ".kiro/sessions/cli/" + l.ID + ".jsonl"
			s := &recorder{}
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	script
	results []obj // of the calls of the last answer, which are one record
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.results = nil
		s.user(step.Text)
	case threadtest.Work:
		content := []obj{text(step.Text)}
		for _, u := range step.Calls {
			content = append(content, use(u.ID, "read"))
		}
		s.add("AssistantMessage", nil, content...)
	case threadtest.Result:
		status := map[bool]string{true: "error", false: "success"}[step.Failed]
		s.results = append(s.results, result(step.Calls[0].ID, status, text(step.Text)))
		if step.Last {
			s.add("ToolResults", nil, s.results...)
			s.results = nil
		}
	case threadtest.Answer:
		s.add("AssistantMessage", nil, text(step.Text))
	}
}
