package opencode

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A turn follows where a thread stands: its last message tells.
type turn struct {
	state     thread.State
	uncounted int // requests of which no usage was written
}

// message follows one message.
func (t *turn) message(m message, role thread.Role, c content) {
	at := m.data.Get("time", "completed").Int()
	if at == 0 {
		at = max(m.data.Get("time", "created").Int(), m.created)
	}
	set := func(s thread.Status, why string) {
		t.state = thread.State{Status: s, Source: thread.Child, Evidence: fmt.Sprintf("%s, message %s", why, m.id), At: clock(at)}
	}
	switch role {
	case thread.User:
		set(thread.Running, "no answer yet")
		return
	case thread.Assistant:
	default:
		return
	}
	if c.begun > len(c.steps) {
		t.uncounted += c.begun - len(c.steps)
	}
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
		set(thread.Running, "its last request ended, the message did not")
	default:
		set(thread.Running, "the message has not ended")
	}
}

// waiting says what a person has to do before a call ends.
func waiting(open []string) string {
	switch {
	case slices.Contains(open, "question"):
		return "an answer to its question"
	case slices.Contains(open, "plan_exit"):
		return "approval of its plan"
	}
	return ""
}

// end returns the state once all messages were seen.
func (t *turn) end() thread.State {
	if t.state.Status == "" {
		return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "it has no message of its own", At: time.Time{}}
	}
	return t.state
}
