package opencode

import (
	"cmp"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn tracks the status of a thread, which is that of its last message.
type turn struct {
	state     thread.State
	uncounted int // requests without usage
}

// message handles one message.
func (t *turn) message(m message, role thread.Role, c content) {
	at := m.data.Get("time", "completed").Int()
	if at == 0 {
		at = max(m.data.Get("time", "created").Int(), m.created)
	}
	set := func(s thread.Status, reason string) {
		t.state = thread.ReadState(s, thread.Child, jsonl.Milliseconds(at), "%s, message %s", reason, m.id)
	}
	switch role {
	case thread.User:
		set(thread.Running, "no answer yet")
		return
	case thread.Assistant:
	default:
		return
	}
	t.uncounted += max(0, c.started-len(c.steps))
	finish := m.data.Get("finish").Text()
	failed := m.data.Get("error")
	switch name := failed.Get("name").Text(); {
	case name != "":
		set(thread.Errored, name+": "+cmp.Or(failed.Get("data", "message").Text(), "no message given"))
	case len(c.open) > 0:
		set(thread.Running, "call of "+c.open[len(c.open)-1]+" has not ended")
		t.state.Waiting = waiting(c.open)
	case finish == "tool-calls":
		set(thread.Running, "finish is tool-calls")
	case finish == "length", finish == "content-filter", finish == "error":
		set(thread.Errored, "finish is "+finish)
	case finish != "" && finish != "unknown":
		set(thread.Completed, "finish is "+finish)
	case m.data.Get("time", "completed").Int() > 0:
		set(thread.Completed, "time.completed")
	case len(c.steps) > 0:
		set(thread.Running, "its last request has ended, the message has not")
	default:
		set(thread.Running, "the message has not ended")
	}
}

// waiting returns what a person has to do before a call ends.
func waiting(open []string) string {
	switch {
	case slices.Contains(open, "question"):
		return "an answer to its question"
	case slices.Contains(open, "plan_exit"):
		return "approval of its plan"
	}
	return ""
}

// end returns the state after the last message.
func (t *turn) end() thread.State {
	if t.state.Status == "" {
		return thread.ReadState(thread.PendingInit, thread.Inferred, time.Time{}, "no messages yet")
	}
	return t.state
}
