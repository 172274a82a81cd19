package opencode_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
)

// TestTurns reads generated sessions after each change of their rows.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: opencode.Driver(), Asks: true, NoQuestions: true,
		Setup: func(exec func(string, ...any), _, id string) {
			exec(schema)
			exec(
				"INSERT INTO session VALUES (?,'p',NULL,'slug','/home/u/project','A title','1.17.3','build',NULL,?,?,NULL,NULL)",
				id, started, started)
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("ses_1b%08dffeTurns000000000", n)
			l.Path = ".local/share/opencode/opencode.db"
			return (&recorder{log: l, now: started}).record
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	log     *threadtest.Log
	now     int64
	n       int    // of messages
	message string // ID of the last message
	data    obj
	parts   int
	calls   map[string]string // IDs of the parts of calls
}

func (r *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		r.add(obj{"role": "user"})
		r.part(said(step.Text))
	case threadtest.Work:
		r.answer(step.Text)
		r.log.Before()
		r.calls = map[string]string{}
		for _, u := range step.Calls {
			r.calls[u.ID] = r.part(called(u, "pending", ""))
		}
	case threadtest.Result:
		u := step.Calls[0]
		status := map[bool]string{true: "error", false: "completed"}[step.Failed]
		r.change(r.calls[u.ID], called(u, status, step.Text))
		if step.Last {
			r.part(obj{"type": "step-finish", "reason": "tool-calls", "tokens": counts([5]int64{1, 1, 0, 0, 0}), "cost": 0})
			r.end(obj{"finish": "tool-calls"})
		}
	case threadtest.Answer:
		r.answer(step.Text)
		r.part(obj{"type": "step-finish", "reason": "stop", "tokens": counts([5]int64{1, 1, 0, 0, 0}), "cost": 0})
		r.log.Before()
		r.end(obj{"finish": "stop"})
	case threadtest.Failure:
		r.add(obj{"role": "assistant"})
		r.log.Before()
		r.end(obj{"error": obj{"name": "APIError", "data": obj{"message": "overloaded"}}})
	case threadtest.Interrupt:
		r.interrupt(step)
	case threadtest.Compaction:
		r.compact(step)
	}
}

// add adds a message.
func (r *recorder) add(data obj) {
	r.n, r.now, r.parts = r.n+1, r.now+1000, 0
	r.message, r.data = fmt.Sprintf("msg_%05d", r.n), data
	data["time"] = obj{"created": r.now}
	r.log.Exec("INSERT INTO message VALUES (?,?,?,?,?)", r.message, r.log.ID, r.now, r.now, text(data))
}

// end changes the last message, which has ended.
func (r *recorder) end(more obj) {
	maps.Copy(r.data, more)
	r.data["time"] = obj{"created": r.now, "completed": r.now + 500}
	r.log.Exec("UPDATE message SET data = ? WHERE id = ?", text(r.data), r.message)
}

// part adds a part to the last message.
func (r *recorder) part(data obj) (id string) {
	r.parts++
	id = fmt.Sprintf("prt_%05d_%05d", r.n, r.parts)
	r.log.Exec("INSERT INTO part VALUES (?,?,?,?,?,?)", id, r.message, r.log.ID, r.now, r.now, text(data))
	return id
}

func (r *recorder) change(id string, data obj) {
	r.log.Exec("UPDATE part SET data = ? WHERE id = ?", text(data), id)
}

// answer adds an answer that has not ended.
func (r *recorder) answer(words string) {
	r.add(obj{"role": "assistant", "modelID": "model-1", "providerID": "maker"})
	r.part(obj{"type": "step-start"})
	r.part(said(words))
}

// called returns the part of a call.
func called(u threadtest.Use, status, output string) obj {
	tool := "bash"
	if u.Asks {
		tool = "question"
	}
	p := used(tool, status, output, nil)
	p["callID"] = u.ID
	return p
}

// interrupt writes the open calls, and then the end of the answer.
func (r *recorder) interrupt(step threadtest.Step) {
	if len(step.Open) == 0 {
		r.answer(step.Text)
		r.log.Before()
	}
	for _, u := range step.Open {
		r.change(r.calls[u.ID], called(u, "error", "Tool execution aborted"))
	}
	r.log.Before()
	r.end(obj{"error": obj{"name": "MessageAbortedError", "data": obj{"message": "aborted"}}})
}

// compact writes the request of a compaction, and an answer with the summary. Within a
// turn, a prompt of the tool follows.
func (r *recorder) compact(step threadtest.Step) {
	r.add(obj{"role": "user"})
	r.part(obj{"type": "compaction", "auto": step.InTurn})
	r.add(obj{"role": "assistant", "summary": true})
	r.part(said(step.Text))
	r.log.Shows(thread.Running)
	r.end(obj{"finish": "stop"})
	if step.InTurn {
		r.log.Shows(thread.Completed)
		r.add(obj{"role": "user"})
		r.part(obj{"type": "text", "synthetic": true, "text": "Continue if you have next steps"})
	}
}
