package claude_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestTurns truncates generated transcripts of three versions at every record: one that
// records the end of answers, one that records only the end of turns, and one that
// records neither. Every fourth transcript is that of a subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: claude.Driver(), Asks: true, Agent: agentID, NoEnd: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			version := []string{"2.1.140", "2.1.20", "2.0.72"}[n%3]
			session, agent := fmt.Sprintf("0c4f3c1e-7b1a-4d59-9d0e-%012d", n), ""
			l.ID, l.Path = session, ".claude/"+project+session+".jsonl"
			if n%4 == 3 {
				agent = fmt.Sprintf("b%07d", n)
				l.ID, l.Path = agent, ".claude/"+project+session+"/subagents/agent-"+agent+".jsonl"
			}
			s := &recorder{script: start(session, agent, version, 0), log: l, answers: n%3 == 0, turns: n%3 == 1 && agent == ""}
			s.raw(obj{"type": "file-history-snapshot", "messageId": "x", "snapshot": obj{}})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

func agentID(u threadtest.Use) string { return fmt.Sprintf("a%07d", u.N) }

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log     *threadtest.Log
	answers bool // the end of answers is recorded
	turns   bool // the end of turns is recorded
}

// before marks the records so far as not yet showing the step.
func (s *recorder) before() {
	s.log.Lines = s.lines
	s.log.Before()
}

// stop returns a stop_reason, null if the version does not record it.
func (s *recorder) stop(reason string) any {
	if s.answers {
		return reason
	}
	return nil
}

func (s *recorder) record(step threadtest.Step) {
	id, few := fmt.Sprint("m", step.N), used(1, 0, 0, 0, 9)
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text)
	case threadtest.Work:
		s.work(id, step)
	case threadtest.Result:
		s.returned(step)
	case threadtest.Answer:
		if s.answers || s.turns {
			s.say(id, step.Text, few, nil)
			s.before()
		}
		if !s.turns {
			s.say(id, step.Text, few, s.stop("end_turn"))
			return
		}
		s.system("turn_duration")
	case threadtest.Steer:
		s.add("attachment", obj{"attachment": obj{"type": "queued_command", "prompt": step.Text}})
	case threadtest.Failure:
		s.add("system", obj{"subtype": "api_error"})
		s.before()
		s.add("assistant", obj{"isApiErrorMessage": true,
			"message": obj{"id": id, "model": "<synthetic>", "content": []obj{{"type": "text", "text": "API Error: overloaded"}},
				"stop_reason": "stop_sequence"}})
		if s.answers || s.turns {
			s.system("turn_duration")
		}
	case threadtest.Interrupt:
		s.add("user",
			obj{"message": obj{"role": "user", "content": []obj{{"type": "text", "text": "[Request interrupted by user]"}}}})
	case threadtest.Compaction:
		s.system("compact_boundary").add("user",
			obj{"isCompactSummary": true, "message": obj{"role": "user", "content": step.Text}})
	}
}

// work writes an answer with calls. Versions that do not record the end of answers show
// its text as the last message.
func (s *recorder) work(id string, step threadtest.Step) {
	few := used(1, 0, 0, 0, 9)
	if step.N%2 == 0 {
		s.block(id, obj{"type": "thinking", "thinking": "Hm."}, few, nil)
		s.log.Lines = s.lines
		s.log.Shows(thread.Running)
	}
	s.say(id, step.Text, few, nil)
	s.log.Lines = s.lines
	if s.answers || s.turns {
		s.log.Before()
	} else {
		s.log.Shows(thread.Completed)
	}
	for i, u := range step.Calls {
		name, input := "Bash", obj{"command": "ls"}
		if u.Asks {
			name, input = "AskUserQuestion", obj{"questions": []obj{{"question": "which?"}}}
		}
		if u.Spawns {
			name, input = "Agent", obj{"description": u.ID, "prompt": "work on " + u.ID}
		}
		s.block(id, obj{"type": "tool_use", "id": u.ID, "name": name, "input": input}, few, s.stop("tool_use"))
		if u.Spawns && i%2 == 0 {
			s.add("progress", obj{"parentToolUseID": u.ID,
				"data": obj{"type": "agent_progress", "agentId": agentID(u), "message": obj{}}})
		}
	}
}

// returned writes the result of a call.
func (s *recorder) returned(step threadtest.Step) {
	u := step.Calls[0]
	if u.Spawns {
		s.result(u.ID, step.Text, obj{"status": "completed", "agentId": agentID(u)})
		return
	}
	s.add("user",
		obj{
			"message": obj{"role": "user", "content": []obj{
				{"type": "tool_result", "tool_use_id": u.ID, "is_error": step.Failed, "content": step.Text}}},
			"toolUseResult": step.Text})
}
