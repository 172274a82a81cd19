package codex

import (
	"bytes"
	"cmp"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn tracks the status of a thread.
type turn struct {
	State    thread.State
	Last     jsonl.Stamp // of all records
	Policy   string      // approval policy of the turn
	Plan     bool        // the turn proposed a plan
	Failed   bool        // the turn has an error
	Counted  bool        // the turn has usage
	Answered bool        // the turn has an answer

	Interrupted int // turns that were interrupted before their usage was recorded
	Silent      int // turns with an answer and without usage

	// For rollouts without records of turns.
	Question int // line of the last prompt, call or result, which needs an answer
	Answer   int // line of the last answer
	Open     thread.PendingCalls
}

// event handles the events that start and end turns.
func (t *turn) event(kind []byte, v *jsonl.Members, line int, at jsonl.Value) {
	set := func(s thread.Status, reason string) {
		t.State = thread.ReadState(s, thread.Child, at.Time(), "%s, line %d", reason, line)
	}
	switch string(kind) {
	case "task_started", "turn_started":
		if t.State.Status == thread.Running && !t.Counted {
			t.Interrupted++
		}
		set(thread.Running, string(kind))
		t.Plan, t.Failed, t.Counted, t.Answered, t.Open = false, false, false, false, nil
	case "task_complete", "turn_complete", "turn.completed":
		if t.Answered && !t.Counted {
			t.Silent++
		}
		if e := v.Get("error"); e.Kind() == jsonl.Object {
			set(thread.Errored, string(kind)+": error: "+cmp.Or(thread.Brief(e.Get("message").Text()), "no reason given"))
			return
		}
		text := v.Get("last_agent_message")
		if t.Failed && text.Kind() != jsonl.String {
			return
		}
		set(thread.Completed, string(kind))
		t.State.Waiting = thread.WaitingFor(text.Text())
		if t.Plan {
			t.State.Waiting = "approval of the plan it proposed"
		}
	case "turn_aborted":
		if !t.Counted {
			t.Interrupted++
		}
		set(thread.Errored, "turn_aborted: "+cmp.Or(v.Get("reason").Text(), "no reason given"))
	case "error":
		set(thread.Errored, "error: "+cmp.Or(v.Get("message").Text(), v.Get("error", "message").Text()))
		t.Failed = true
	case "shutdown_complete":
		set(thread.Shutdown, string(kind))
	}
}

// asked handles a prompt. Without records of turns, it starts one.
func (t *turn) asked(line int) {
	t.Question = line
	if t.State.Status == "" {
		t.Open = nil
	}
}

// returned handles the result of a call.
func (t *turn) returned(id string, line int) {
	t.Question = line
	delete(t.Open, id)
}

// called handles a call, which a person may have to approve or answer.
func (t *turn) called(c thread.Call, input jsonl.Value, line int) {
	t.Question = line
	waiting := ""
	escalated := bytes.Contains(input, []byte("require_escalated")) ||
		bytes.Contains(input, []byte("with_escalated_permissions"))
	switch {
	case c.Name == "request_user_input":
		waiting = "an answer"
	case escalated:
		waiting = "approval of a command that leaves the sandbox"
	case t.Policy == "untrusted":
		waiting = "a command, or the approval that the policy requires for it"
	}
	if c.Pending {
		t.Open.Add(c.ID, waiting)
	}
}

// end returns the state after the last record.
func (t *turn) end() thread.State {
	last := t.Last.Time()
	if t.State.Status != "" {
		if t.State.Status == thread.Running {
			t.State.Waiting = cmp.Or(t.State.Waiting, t.Open.Waiting())
		}
		if t.State.At.IsZero() {
			t.State.At = last
		}
		return t.State
	}
	switch {
	case t.Question == 0 && t.Answer == 0:
		return thread.ReadState(thread.PendingInit, thread.Inferred, last, "no turn has started")
	case t.Answer > t.Question && len(t.Open) == 0:
		return thread.ReadState(thread.Completed, thread.Inferred, last,
			"last message is from the agent, line %d, and this version does not record the end of a turn", t.Answer)
	}
	return thread.ReadState(thread.Running, thread.Inferred, last,
		"a question or the result of a call has no answer, and this version does not record the end of a turn")
}
