package kimi_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/kimi"
)

// TestTurns truncates generated journals at every record. Every other one is of a
// version of the protocol without the end of turns and records of subagents.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: kimi.Driver(), Asks: true, Agent: agentID,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("session_019f0000-0000-7000-8000-%012d", n)
			l.Path = ".kimi-code/sessions/wd_x_0123/" + l.ID + "/agents/main/wire.jsonl"
			s := &recorder{script: begin(), log: l, ends: n%2 == 0}
			if !s.ends {
				s.lines[0] = old(s.lines[0])
			}
			l.Lines, l.NoAgents = s.lines, !s.ends
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

func agentID(u threadtest.Use) string { return fmt.Sprint("agent-", u.N) }

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log  *threadtest.Log
	ends bool // the end of turns is recorded
}

// before marks the records so far as not yet showing the step.
func (s *recorder) before() {
	s.log.Lines = s.lines
	s.log.Before()
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.user(step.Text, "user")
		s.user("<system-reminder>", "injection")
	case threadtest.Work:
		s.say(step.Text)
		s.usage(1)
		s.before()
		for _, u := range step.Calls {
			s.use(u)
		}
	case threadtest.Result:
		u := step.Calls[0]
		if u.Spawns {
			s.add("subagent.completed", obj{"subagentId": agentID(u)})
		}
		s.result(u.ID, step.Text, step.Failed)
		if step.Last {
			s.script.end("tool_use")
		}
	case threadtest.Answer:
		s.say(step.Text)
		s.usage(1)
		s.before()
		s.script.end("end_turn")
		if s.ends {
			s.before()
			s.add("turn.ended", obj{"reason": "completed"})
		}
	case threadtest.Steer:
		s.add("turn.steer", obj{"input": []obj{{"type": "text", "text": step.Text}}})
		s.add("context.append_message",
			obj{"message": obj{"role": "user", "content": []obj{{"type": "text", "text": step.Text}},
				"origin": obj{"kind": "user"}}})
	case threadtest.Failure:
		s.loop("step.begin", obj{"step": 1})
		s.before()
		s.stop("failed", "error")
	case threadtest.Interrupt:
		s.add("turn.cancel", nil)
		if s.ends {
			s.add("turn.ended", obj{"reason": "cancelled"})
		}
	case threadtest.Compaction:
		s.add("full_compaction.begin", obj{"source": "auto"})
		s.add("context.apply_compaction", obj{"summary": step.Text})
		s.log.Lines = s.lines
		s.log.Shows(thread.Running)
		s.add("full_compaction.complete", nil)
	}
}

// stop writes the end of a turn that failed.
func (s *recorder) stop(reason, finish string) {
	if s.ends {
		s.add("turn.ended", obj{"reason": reason})
		return
	}
	s.script.end(finish)
}

func (s *recorder) use(u threadtest.Use) {
	switch {
	case u.Asks:
		s.call(u.ID, "AskUserQuestion")
	case u.Spawns:
		s.call(u.ID, "Agent")
		s.add("subagent.spawned", obj{"subagentId": agentID(u), "subagentName": "coder", "parentToolCallId": u.ID})
	default:
		s.call(u.ID, "Bash")
	}
}

// TestOldTurns truncates generated contexts of Kimi CLI at every record.
func TestOldTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: kimi.Driver(),
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n)
			l.Path = ".kimi/sessions/0123456789abcdef/" + l.ID + "/context.jsonl"
			s := new(script)
			s.put(obj{"role": "_system_prompt", "content": "You are."})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.recordOld(step)
				l.Lines = s.lines
			}
		}})
}

// recordOld writes the records of a step, of which Kimi CLI has only these.
func (s *script) recordOld(step threadtest.Step) {
	text := []obj{{"type": "think", "think": "Hm."}, {"type": "text", "text": step.Text}}
	switch step.Kind {
	case threadtest.Prompt:
		s.put(obj{"role": "user", "content": step.Text})
	case threadtest.Work:
		var calls []obj
		for _, u := range step.Calls {
			calls = append(calls, obj{"id": u.ID, "function": obj{"name": "Shell", "arguments": "{}"}})
		}
		s.put(obj{"role": "assistant", "content": text, "tool_calls": calls})
	case threadtest.Result:
		s.put(obj{"role": "tool", "tool_call_id": step.Calls[0].ID, "content": step.Text})
	case threadtest.Answer:
		s.put(obj{"role": "assistant", "content": text})
		s.put(obj{"role": "_usage", "token_count": 12})
	}
}
