package cursor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread/cursor"
	"github.com/agent-handoff/handoff/threadtest"
)

// TestTurns truncates generated transcripts at every record. Every other one is of a
// version that records results and the end of turns, and every third one is that of a
// subagent. Conversations in databases have no records that could be truncated; for
// them see TestDamaged.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: cursor.Driver(), Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
		l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n+100)
		l.Path = ".cursor/projects/home-u-project/agent-transcripts/" + l.ID + ".jsonl"
		if n%3 == 2 {
			l.Path = ".cursor/projects/home-u-project/agent-transcripts/" + doneID + "/subagents/" + l.ID + ".jsonl"
		}
		s := &recorder{log: l, ends: n%2 == 0}
		return s.record
	}})
}

// A recorder records the steps of a conversation.
type recorder struct {
	log     *threadtest.Log
	ends    bool  // results and the end of turns are recorded
	results []obj // of the calls of the last answer, which are one record
}

func (s *recorder) add(record string) {
	s.log.Lines = append(s.log.Lines, strings.TrimSpace(record))
}

func (s *recorder) end(status string) {
	if s.ends {
		s.add(encode(obj{"type": "turn_ended", "status": status}))
	}
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.results = nil
		s.add(line("user", text("<user_query>\n"+step.Text+"\n</user_query>")))
	case threadtest.Work:
		content := []obj{text(step.Text + "\n\n[REDACTED]")}
		for range step.Calls {
			content = append(content, use("Shell"))
		}
		s.add(line("assistant", content...))
	case threadtest.Result:
		s.results = append(s.results, obj{"type": "tool_result", "content": step.Text, "is_error": step.Failed})
		if step.Last && s.ends {
			s.add(line("user", s.results...))
		}
		if step.Last {
			s.results = nil
		}
	case threadtest.Answer:
		s.add(line("assistant", text(step.Text)))
		s.end("success")
	case threadtest.Failure:
		s.end("error")
	case threadtest.Interrupt:
		s.end("aborted")
	}
}
