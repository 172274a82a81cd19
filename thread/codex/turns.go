package codex

import (
	"bytes"
	"cmp"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn tracks the status of a thread.
type turn struct {
	state    thread.State
	last     jsonl.Stamp // of all records
	policy   string      // approval policy of the turn
	plan     bool        // the turn proposed a plan
	failed   bool        // the turn has an error
	counted  bool        // the turn has usage
	answered bool        // the turn has an answer

	interrupted int // turns that were interrupted before their usage was recorded
	silent      int // turns with an answer and without usage

	// For rollouts without records of turns.
	question int // line of the last prompt, call or result, which needs an answer
	answer   int // line of the last answer
	open     thread.PendingCalls
}

// event handles the events that start and end turns.
func (t *turn) event(kind []byte, v *jsonl.Members, line int, at jsonl.Value) {
	set := func(s thread.Status, reason string) {
		t.state = thread.ReadState(s, thread.Child, at.Time(), "%s, line %d", reason, line)
	}
	switch string(kind) {
	case "task_started", "turn_started":
		if t.state.Status == thread.Running && !t.counted {
			t.interrupted++
		}
		set(thread.Running, string(kind))
		t.plan, t.failed, t.counted, t.answered, t.open = false, false, false, false, nil
	case "task_complete", "turn_complete", "turn.completed":
		if t.answered && !t.counted {
			t.silent++
		}
		if e := v.Get("error"); e.Kind() == jsonl.Object {
			set(thread.Errored, string(kind)+": error: "+cmp.Or(thread.Brief(e.Get("message").Text()), "no reason given"))
			return
		}
		text := v.Get("last_agent_message")
		if t.failed && text.Kind() != jsonl.String {
			return
		}
		set(thread.Completed, string(kind))
		t.state.Waiting = thread.WaitingFor(text.Text())
		if t.plan {
			t.state.Waiting = "approval of the plan it proposed"
		}
	case "turn_aborted":
		if !t.counted {
			t.interrupted++
		}
		set(thread.Errored, "turn_aborted: "+cmp.Or(v.Get("reason").Text(), "no reason given"))
	case "error":
		set(thread.Errored, "error: "+cmp.Or(v.Get("message").Text(), v.Get("error", "message").Text()))
		t.failed = true
	case "shutdown_complete":
		set(thread.Shutdown, string(kind))
	}
}

// asked handles a prompt. Without records of turns, it starts one.
func (t *turn) asked(line int) {
	t.question = line
	if t.state.Status == "" {
		t.open = nil
	}
}

// returned handles the result of a call.
func (t *turn) returned(id string, line int) {
	t.question = line
	delete(t.open, id)
}

// called handles a call, which a person may have to approve or answer.
func (t *turn) called(c thread.Call, input jsonl.Value, line int) {
	t.question = line
	waiting := ""
	escalated := bytes.Contains(input, []byte("require_escalated")) || bytes.Contains(input, []byte("with_escalated_permissions"))
	switch {
	case c.Name == "request_user_input":
		waiting = "an answer"
	case escalated:
		waiting = "approval of a command that leaves the sandbox"
	case t.policy == "untrusted":
		waiting = "a command, or the approval that the policy requires for it"
	}
	if c.Pending {
		t.open.Add(c.ID, waiting)
	}
}

// end returns the state after the last record.
func (t *turn) end() thread.State {
	last := t.last.Time()
	if t.state.Status != "" {
		if t.state.Status == thread.Running {
			t.state.Waiting = cmp.Or(t.state.Waiting, t.open.Waiting())
		}
		if t.state.At.IsZero() {
			t.state.At = last
		}
		return t.state
	}
	switch {
	case t.question == 0 && t.answer == 0:
		return thread.ReadState(thread.PendingInit, thread.Inferred, last, "no turn has started")
	case t.answer > t.question && len(t.open) == 0:
		return thread.ReadState(thread.Completed, thread.Inferred, last, "last message is from the agent, line %d, and this version does not record the end of a turn", t.answer)
	}
	return thread.ReadState(thread.Running, thread.Inferred, last, "a question or the result of a call has no answer, and this version does not record the end of a turn")
}
