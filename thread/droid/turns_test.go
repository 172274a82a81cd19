package droid_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/droid"
)

// TestTurns truncates generated sessions at every record. Every third one is that of a
// subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: droid.Driver(), Asks: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n+100)
			l.Path = ".factory/sessions/-home-u-project/" + l.ID + ".jsonl"
			var more obj
			if n%3 == 2 {
				more = obj{"callingSessionId": doneID, "callingToolUseId": "task1"}
			}
			s := &recorder{script: begin(l.ID, more), log: l}
			s.message("user", text("<system-reminder>\nx\n</system-reminder>"))
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log *threadtest.Log
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.message("user", text("<system-reminder>\nx\n</system-reminder>\n\n"+step.Text))
	case threadtest.Work:
		content := []obj{{"type": "thinking", "thinking": "Hm."}, text(step.Text)}
		for _, u := range step.Calls {
			tool := "Execute"
			if u.Asks {
				tool = "AskUser"
			}
			content = append(content, use(u.ID, tool))
		}
		s.message("assistant", content...)
	case threadtest.Result:
		s.message("user", result(step.Calls[0].ID, step.Text, step.Failed))
	case threadtest.Answer:
		s.message("assistant", text(step.Text))
		s.log.Lines = s.lines
		s.log.Before()
		s.end("completed")
	case threadtest.Failure:
		s.end("error")
	case threadtest.Interrupt: // how it is recorded is not known
	case threadtest.Compaction:
		s.put(obj{"type": "compaction_state", "timestamp": s.at, "summaryText": step.Text})
	}
}
