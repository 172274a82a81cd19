package codex_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// TestTurns truncates generated rollouts at every record: every other one is
// paginated, and every third one is of a subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: codex.Driver(), Asks: true, Agent: agentID,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019c871c-b1f9-7f60-9c4f-%012d", n)
			l.Path = ".codex/sessions/2026/02/22/rollout-2026-02-22T20-48-50-" + l.ID + ".jsonl"
			s := &recorder{script: start("2026-02-22T20:48:50Z"), log: l}
			var more obj
			if n%3 == 2 {
				more = spawned(parentID)
			}
			s.paged = n%2 == 1
			s.meta(l.ID, more).item("user", "<environment_context>\n  <cwd>/home/u/project</cwd>\n</environment_context>")
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
	log  *threadtest.Log
	turn int
}

// before marks the records so far as not yet showing the step.
func (s *recorder) before() {
	s.log.Lines = s.lines
	s.log.Before()
}

func (s *recorder) record(step threadtest.Step) {
	id := fmt.Sprint("turn", s.turn)
	switch step.Kind {
	case threadtest.Prompt:
		s.turn++
		s.begin(fmt.Sprint("turn", s.turn)).user(step.Text)
	case threadtest.Work:
		s.agent(step.Text)
		s.before()
		for _, u := range step.Calls {
			s.use(u)
		}
		s.count(100, 10, 5, 1)
	case threadtest.Result:
		u := step.Calls[0]
		var out any = step.Text
		if u.Spawns {
			out = obj{"status": obj{agentID(u): obj{"completed": "done"}}, "timed_out": false}
		}
		s.output(u.ID, out)
	case threadtest.Answer:
		s.agent(step.Text).count(100, 10, 5, 1)
		s.before()
		s.end(id, step.Text)
	case threadtest.Steer:
		s.user(step.Text)
	case threadtest.Failure:
		s.fail(id)
	case threadtest.Interrupt:
		s.item("user", "<turn_aborted>\nthe user did it")
		s.before()
		s.event("turn_aborted", obj{"turn_id": id, "reason": "interrupted"})
	case threadtest.Compaction:
		s.compact(step)
	}
}

func agentID(u threadtest.Use) string { return fmt.Sprintf("019c871d-0000-7000-8000-%012d", u.N) }

// use writes a call. That of a subagent is a call that starts it, and one that waits.
func (s *recorder) use(u threadtest.Use) {
	switch {
	case u.Asks:
		s.call(u.ID, "request_user_input", obj{"questions": []obj{}}, nil)
	case u.Spawns:
		s.call("s"+u.ID, "spawn_agent", obj{"message": "work"}, obj{"agent_id": agentID(u)})
		s.call(u.ID, "wait", obj{"ids": []string{agentID(u)}}, nil)
	default:
		s.call(u.ID, "exec_command", obj{"cmd": "ls"}, nil)
	}
}

// output writes the result of a call.
func (s *recorder) output(id string, out any) {
	text, ok := out.(string)
	if !ok {
		b, _ := json.Marshal(out)
		text = string(b)
	}
	s.add("response_item", obj{"type": "function_call_output", "call_id": id, "output": text})
}

// fail writes a turn that failed, as of version 0.169 in every other one.
func (s *recorder) fail(id string) {
	if s.turn%2 == 0 {
		s.event("task_complete", obj{"turn_id": id, "last_agent_message": nil, "error": obj{"message": "no connection"}})
		return
	}
	s.event("error", obj{"message": "no connection"}).event("task_complete", obj{"turn_id": id, "last_agent_message": nil})
}

// compact writes a compaction. That of the user is a turn.
func (s *recorder) compact(step threadtest.Step) {
	if step.InTurn {
		s.add("compacted", obj{"message": step.Text}).event("context_compacted", nil)
		return
	}
	s.turn++
	s.begin(fmt.Sprint("turn", s.turn)).add("compacted", obj{"message": step.Text}).event("context_compacted", nil)
	s.log.Lines = s.lines
	s.log.Shows(thread.Running)
	s.event("task_complete", obj{"turn_id": fmt.Sprint("turn", s.turn), "last_agent_message": nil})
}

// TestOldTurns truncates generated rollouts without envelopes and records of turns.
func TestOldTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: codex.Driver(), NoQuestions: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("4a3b2c1d-0000-4000-8000-%012d", n)
			l.Path = ".codex/sessions/2025/05/01/rollout-2025-05-01T10-00-00-" + l.ID + ".jsonl"
			s := new(script).raw(obj{"id": l.ID, "timestamp": "2025-05-01T10:00:00Z", "instructions": nil}).
				raw(obj{"record_type": "state"})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.recordOld(l, step)
				l.Lines = s.lines
			}
		}})
}

// recordOld records a step. An answer looks like the last one until its calls follow.
func (s *script) recordOld(l *threadtest.Log, step threadtest.Step) {
	message := func(role, kind string) {
		s.raw(obj{"type": "message", "role": role, "content": []obj{{"type": kind, "text": step.Text}}})
	}
	switch step.Kind {
	case threadtest.Prompt, threadtest.Steer:
		message("user", "input_text")
	case threadtest.Work:
		message("assistant", "output_text")
		l.Lines = s.lines
		l.Shows(thread.Completed)
		for _, u := range step.Calls {
			s.raw(obj{"type": "function_call", "name": "shell", "call_id": u.ID, "arguments": "{}"})
		}
	case threadtest.Result:
		s.raw(obj{"type": "function_call_output", "call_id": step.Calls[0].ID, "output": step.Text})
	case threadtest.Answer:
		message("assistant", "output_text")
	}
}
