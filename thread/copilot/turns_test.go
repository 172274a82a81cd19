package copilot_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/copilot"
)

// TestTurns truncates generated sessions at every record.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: copilot.Driver(), Asks: true, Agent: subagentID,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
			l.Path = ".copilot/session-state/" + l.ID + "/events.jsonl"
			s := &recorder{script: begin(l.ID), log: l, noStart: n%2 == 1, behind: n%4 == 2}
			s.add("system.message", obj{"content": "You are."})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

func subagentID(u threadtest.Use) string { return fmt.Sprintf("019f0000-0000-7000-9000-%012d", u.N) }

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log     *threadtest.Log
	noStart bool // compactions have no record of their start
	behind  bool // a compaction within a turn ends after the turn
	late    bool // such a compaction has not ended
	turn    bool // a request has started and not ended
}

// before marks the records so far as not yet showing the step.
func (s *recorder) before() {
	s.log.Lines = s.lines
	s.log.Before()
}

// request starts a request, which is what the tool calls a turn.
func (s *recorder) request() {
	if !s.turn {
		s.start()
	}
	s.turn = true
}

func (s *recorder) end() {
	s.script.end()
	s.turn = false
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text)
		s.turn = false
		s.request()
	case threadtest.Work:
		s.work(step)
	case threadtest.Result:
		s.returned(step)
	case threadtest.Answer:
		s.request()
		s.answer(step.Text, 3)
		s.before()
		s.end()
		if s.late {
			s.compacted(step.Text)
		}
	case threadtest.Steer:
		s.user(step.Text)
	case threadtest.Failure:
		s.request()
		s.end()
		s.before()
		s.add("session.error", obj{"errorType": "query", "message": "no connection"})
	case threadtest.Interrupt:
		s.add("abort", obj{"reason": "user initiated"})
		s.turn = false
	case threadtest.Compaction:
		s.compact(step)
	}
}

// compact writes a compaction. One within a turn may end later.
func (s *recorder) compact(step threadtest.Step) {
	if !s.noStart {
		s.add("session.compaction_start", obj{"trigger": "manual"})
		s.log.Lines = s.lines
		s.log.Shows(thread.Running)
	}
	if s.behind && step.InTurn {
		s.late = true
		return
	}
	s.compacted(step.Text)
}

func (s *recorder) compacted(summary string) {
	s.add("session.compaction_complete", obj{"success": true, "summaryContent": summary})
	s.late = false
}

// work writes an answer with calls, and the start of each.
func (s *recorder) work(step threadtest.Step) {
	s.request()
	var requests []obj
	tools := map[bool]string{true: "task", false: "bash"}
	for _, u := range step.Calls {
		requests = append(requests, task(u.ID, tools[u.Spawns]))
	}
	s.answer(step.Text, 3, requests...)
	s.before()
	for _, u := range step.Calls {
		switch {
		case u.Asks:
			s.call(u.ID, "ask_user")
		case u.Spawns:
			s.call(u.ID, "task")
			s.agent = subagentID(u)
			s.add("subagent.started", obj{"toolCallId": u.ID, "agentName": "task", "agentDisplayName": "Task"})
			s.user("do it")
			s.start()
			s.agent = ""
		default:
			s.call(u.ID, "bash")
		}
	}
}

// returned writes the result of a call, and the end of the request after the last one.
func (s *recorder) returned(step threadtest.Step) {
	u := step.Calls[0]
	if u.Spawns {
		s.agent = subagentID(u)
		s.answer("Done.", 1)
		s.before()
		s.script.end()
		s.add("subagent.completed", obj{"toolCallId": u.ID, "agentName": "task"})
		s.agent = ""
	}
	code := 0
	if step.Failed {
		code = 1
	}
	s.result(u.ID, step.Text, code)
	if step.Last {
		s.end()
	}
}
