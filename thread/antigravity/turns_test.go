package antigravity_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/antigravity"
)

// TestTurns truncates generated threads at every record.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: antigravity.Driver(),
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
			l.Path = ".gemini/antigravity-cli/brain/" + l.ID + "/.system_generated/logs/transcript.jsonl"
			s := begin()
			s.add("SYSTEM", "CONVERSATION_HISTORY", map[string]any{"content": "none"})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

// record writes the steps of the tool.
func (s *script) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text)
	case threadtest.Work:
		var calls []string
		for range step.Calls {
			calls = append(calls, "view_file")
		}
		text := step.Text
		if step.N%2 == 0 {
			text = ""
		}
		s.answer(text, calls...)
	case threadtest.Result:
		status := map[bool]string{true: "ERROR", false: "DONE"}[step.Failed]
		s.add("MODEL", "VIEW_FILE", map[string]any{"content": step.Text, "status": status})
	case threadtest.Answer:
		s.answer(step.Text)
		s.add("SYSTEM", "CHECKPOINT", map[string]any{"content": "a summary"})
	case threadtest.Failure:
		s.add("SYSTEM", "ERROR_MESSAGE", map[string]any{"content": "model output error"})
	case threadtest.Interrupt: // how it is recorded is not known
	case threadtest.Compaction:
		s.add("SYSTEM", "CHECKPOINT", map[string]any{"content": step.Text})
	}
}
