package cline_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/cline"
)

// TestTurns reads generated tasks after each message. TestTruncated truncates some.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: cline.Driver(), Asks: true, Rewrites: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("1755599682%03d", n)
			l.Path = storage + "/tasks/" + l.ID + "/ui_messages.json"
			s := &recorder{log: l}
			return func(step threadtest.Step) {
				s.record(step)
				s.write()
			}
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	script
	log *threadtest.Log
}

// write writes the versions of the list that were not written.
func (s *recorder) write() {
	for n := len(s.log.Lines) + 1; n <= len(s.list); n++ {
		s.log.Lines = append(s.log.Lines, encode(s.list[:n]))
	}
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.say(map[bool]string{true: "text", false: "user_feedback"}[len(s.list) == 0], step.Text)
	case threadtest.Work:
		s.request(1, nil)
		s.say("text", step.Text)
		s.write()
		s.log.Before()
		for _, u := range step.Calls { // one after another
			if u.Asks {
				s.ask("command", "ls")
			} else {
				s.say("command", "ls")
			}
		}
	case threadtest.Result:
		s.say("command_output", step.Text)
	case threadtest.Answer:
		s.request(1, nil)
		s.write()
		s.log.Before()
		s.say("completion_result", step.Text)
		s.ask("completion_result", "")
	case threadtest.Failure:
		s.ask("api_req_failed", "no quota")
	case threadtest.Interrupt:
		s.request(0, obj{"cancelReason": "user_cancelled"})
		s.ask("resume_task", "")
	case threadtest.Compaction:
		s.say("condense_context", "")
	}
}
