package codex

import (
	"bytes"
	"cmp"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn is what is known of the current turn, and of earlier ones.
type turn struct {
	Begun    bool   // its start is known
	Policy   string // approval policy
	Plan     bool   // it proposed a plan
	Failed   bool   // it has an error
	Counted  bool   // it has usage
	Answered bool   // it has an answer

	Interrupted int // turns that were interrupted before their usage was recorded
	Silent      int // turns with an answer and without usage

	// For rollouts without records of turns.
	Question int // line of the last prompt, call or result, which needs an answer
	Answer   int // line of the last answer
}

// turned decodes the events that start and end turns.
func (d *decode) turned(kind string) {
	t, v := &d.Turn, &d.payload
	set := func(s thread.Status, reason string) { d.State(s, d.at(), "%s, line %d", reason, d.n) }
	switch kind {
	case "task_started", "turn_started":
		if d.Facts.State.Status == thread.Running && !t.Counted {
			t.Interrupted++
		}
		set(thread.Running, kind)
		t.Begun = true
		t.Plan, t.Failed = false, false
		t.Counted, t.Answered = false, false
		d.Calls, d.Sum.Apart = nil, false
	case "task_complete", "turn_complete", "turn.completed":
		if t.Answered && !t.Counted {
			t.Silent++
		}
		if e := v.Get("error"); e.Kind() == jsonl.Object {
			set(thread.Errored, kind+": error: "+cmp.Or(thread.Brief(e.Get("message").Text()), "no reason given"))
			return
		}
		text := v.Get("last_agent_message")
		switch answered := text.Kind() == jsonl.String; {
		case t.Failed && !answered:
			return
		case d.Tail && !t.Begun && !answered: // it may have failed before
			d.Facts.State = thread.State{}
			return
		}
		set(thread.Completed, kind)
		d.Facts.State.Waiting = thread.WaitingFor(text.Text())
		if t.Plan {
			d.Facts.State.Waiting = "approval of the plan it proposed"
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
		set(thread.Shutdown, kind)
	}
}

// asked notes a prompt. Without records of turns, it starts one.
func (d *decode) asked() {
	d.Turn.Question = d.n
	d.follows("prompt")
	if d.Facts.State.Status == "" {
		d.Calls = nil
	}
}

// follows notes that a turn goes on, whose start is in no record.
func (d *decode) follows(what string) {
	if state := d.Facts.State; state.Status == thread.Completed {
		d.Infer(thread.Running, d.at(), "a %s follows the end of a turn, line %d", what, d.n)
	}
}

// answered notes an answer of the model, whose usage follows.
func (d *decode) answered() {
	d.Turn.Answer, d.Turn.Answered = d.n, true
	if d.Model != "" {
		d.Meter.Add(d.meta.provider, d.model(), thread.Tokens{}, false)
	}
}

// called notes a call, which a person may have to approve or answer.
func (d *decode) called(c thread.Call, input jsonl.Value) {
	d.Turn.Question = d.n
	d.follows("call")
	if !c.Pending {
		return
	}
	waiting := ""
	escalated := bytes.Contains(input, []byte("require_escalated")) ||
		bytes.Contains(input, []byte("with_escalated_permissions"))
	switch {
	case c.Name == "request_user_input":
		waiting = "an answer"
	case escalated:
		waiting = "approval of a command that leaves the sandbox"
	case d.Turn.Policy == "untrusted":
		waiting = "a command, or the approval that the policy requires for it"
	}
	d.Calls.Add(c.ID, waiting)
}

// endTurn sets the state after the last record. Without records of turns, it follows from
// messages, unless only the end of the rollout was read.
func (d *decode) endTurn() {
	t, state := &d.Turn, &d.Facts.State
	last := d.Facts.Last
	switch {
	case state.Status == thread.Running:
		state.Waiting = cmp.Or(state.Waiting, d.Calls.Waiting())
	case state.Status != "" || d.Tail:
	case t.Question == 0 && t.Answer == 0:
		d.Infer(thread.PendingInit, last, "no turn has started")
	case t.Answer > t.Question && len(d.Calls) == 0:
		d.Infer(thread.Completed, last,
			"last message is from the agent, line %d, and this version does not record the end of a turn", t.Answer)
	default:
		d.Infer(thread.Running, last,
			"a question or the result of a call has no answer, and this version does not record the end of a turn")
	}
}
