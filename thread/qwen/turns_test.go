package qwen_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/qwen"
)

// TestTurns truncates generated chats at every record. In every other one an answer is
// several records, and every third one is that of a subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: qwen.Driver(), Asks: true, Agent: subagentID,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			s := &recorder{script: begin(fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)), log: l, parts: n%2 == 1}
			l.ID, l.Path = s.id, ".qwen/projects/p/chats/"+s.id+".jsonl"
			if n%3 == 2 {
				s.agent = fmt.Sprint("general-purpose-call", n)
				l.ID, l.Path = s.agent, ".qwen/projects/p/subagents/"+s.id+"/agent-"+s.agent+".jsonl"
			}
			s.system("attribution_snapshot", obj{})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

func subagentID(u threadtest.Use) string { return "helper-" + u.ID }

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log   *threadtest.Log
	parts bool // the text of an answer and its calls are different records
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text)
	case threadtest.Work:
		s.work(step)
	case threadtest.Result:
		u := step.Calls[0]
		status := map[bool]string{true: "error", false: "success"}[step.Failed]
		if u.Spawns {
			s.result(u.ID, step.Text, status, obj{"type": "task_execution", "subagentName": "helper", "status": "completed",
				"terminateReason": "GOAL"})
			return
		}
		s.result(u.ID, step.Text, status, step.Text)
	case threadtest.Answer:
		s.answer(fmt.Sprint("a", step.N), tokens(20), thought("Hm."), text(step.Text))
		s.telemetry("api_response", "")
	case threadtest.Steer:
		s.add("user", obj{"subtype": "mid_turn_user_message",
			"message": obj{"role": "user", "parts": []obj{text(step.Text)}}})
	case threadtest.Failure:
		s.telemetry("api_error", "400")
	case threadtest.Interrupt: // without an open call, how it is recorded is not known
		for _, u := range step.Open {
			s.result(u.ID, "no", "cancelled", nil)
		}
	case threadtest.Compaction:
		s.system("chat_compression", obj{"compressedHistory": []obj{}})
	}
}

// work writes an answer with calls. If its text is a record, it looks like the last one.
func (s *recorder) work(step threadtest.Step) {
	id, list := fmt.Sprint("a", step.N), []obj{text(step.Text)}
	if s.parts {
		s.answer(id, nil, list...)
		s.log.Lines = s.lines
		s.log.Shows(thread.Completed)
		list = nil
	}
	for _, u := range step.Calls {
		tool := "read_file"
		if u.Asks {
			tool = "ask_user_question"
		}
		if u.Spawns {
			tool = "agent"
		}
		list = append(list, call(u.ID, tool))
	}
	s.answer(id, tokens(20), list...)
}

// telemetry writes a report of a request.
func (s *recorder) telemetry(event, message string) {
	s.system("ui_telemetry", obj{"uiEvent": obj{"event.name": "qwen-code." + event, "prompt_id": s.id + "########0",
		"error_message": message}})
}
