package pi_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/pi"
)

// TestTurns truncates generated sessions at every record.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: pi.Driver(), Agent: func(u threadtest.Use) string { return u.ID },
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			const at = "2026-05-24T23:39:56Z"
			l.ID = fmt.Sprintf("019e5c5c-0000-7000-8000-%012d", n)
			l.Path = ".pi/agent/sessions/" + project + named(at, l.ID)
			s := begin(l.ID, at, nil).add("model_change", obj{"modelId": "x"})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

// record writes the entries of a step.
func (s *script) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text)
	case threadtest.Work:
		var calls []string
		for _, u := range step.Calls {
			calls = append(calls, u.ID)
		}
		s.answer("toolUse", step.Text, 1, calls...)
	case threadtest.Result:
		u := step.Calls[0]
		var details obj
		if u.Spawns {
			details = obj{"mode": "single", "results": []obj{
				{"agent": u.ID, "exitCode": 0, "stopReason": "stop", "usage": obj{"input": 1, "turns": 1}, "messages": []obj{}}}}
		}
		s.result(u.ID, step.Text, details)
	case threadtest.Answer:
		s.answer("stop", step.Text, 1)
	case threadtest.Steer:
		if len(step.Open) == 0 { // it follows the results
			s.user(step.Text)
		}
	case threadtest.Failure:
		s.answer("error", "", 0)
	case threadtest.Interrupt:
		s.answer("aborted", step.Text, 0)
	case threadtest.Compaction:
		s.add("compaction", obj{"summary": step.Text, "tokensBefore": 5})
	}
}
