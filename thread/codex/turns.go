package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn follows where a thread stands.
type turn struct {
	state   thread.State
	last    time.Time // of any record
	lastRaw [48]byte
	lastLen int
	policy  string // for approvals, as the turn's context says
	plan    bool   // a plan was proposed in it
	failed  bool   // an error was recorded in it
	counted bool   // its usage was recorded

	uncounted int // turns that were cut off before that

	// For rollouts that know no turns.
	question, answer int // lines of the last of each
	open             map[string]string
}

// saw notes when a record was written.
func (t *turn) saw(at jsonl.Value) {
	if len(at) > 0 && len(at) <= len(t.lastRaw) {
		t.lastLen = copy(t.lastRaw[:], at)
	}
}

func (t *turn) asked(line int)    { t.question = line }
func (t *turn) answered(line int) { t.answer = line }

// event follows the events that begin and end turns.
func (t *turn) event(kind []byte, v *jsonl.Members, line int, at jsonl.Value) {
	set := func(s thread.Status, why string) {
		t.state = thread.State{Status: s, Source: thread.Child, Evidence: fmt.Sprintf("%s, line %d", why, line), At: at.Time()}
	}
	switch string(kind) {
	case "task_started", "turn_started":
		if t.state.Status == thread.Running && !t.counted {
			t.uncounted++
		}
		set(thread.Running, string(kind))
		t.plan, t.failed, t.counted, t.open = false, false, false, nil
	case "task_complete", "turn_complete", "turn.completed":
		said := v.Get("last_agent_message")
		if t.failed && said.Kind() != jsonl.String {
			return
		}
		set(thread.Completed, string(kind))
		if t.plan {
			t.state.Waiting = "approval of the plan it proposed"
		} else if strings.HasSuffix(strings.TrimSpace(said.Text()), "?") {
			t.state.Waiting = "an answer to the question its last message ends with"
		}
	case "turn_aborted":
		if !t.counted {
			t.uncounted++
		}
		set(thread.Errored, "turn_aborted: "+cmp.Or(v.Get("reason").Text(), "no reason given"))
	case "error":
		set(thread.Errored, "error: "+cmp.Or(v.Get("message").Text(), v.Get("error", "message").Text()))
		t.failed = true
	case "shutdown_complete":
		set(thread.Shutdown, string(kind))
	}
}

// called notes a call that a person may have to approve or answer.
func (t *turn) called(c thread.Call, input jsonl.Value) {
	why := ""
	escalated := bytes.Contains(input, []byte("require_escalated")) || bytes.Contains(input, []byte("with_escalated_permissions"))
	switch {
	case c.Name == "request_user_input":
		why = "an answer"
	case escalated:
		why = "approval of a command that leaves the sandbox"
	case t.policy == "untrusted":
		why = "a command, or its approval, which its policy asks for"
	}
	if t.open == nil {
		t.open = map[string]string{}
	}
	if c.Pending && c.ID != "" && len(t.open) < 1024 {
		t.open[c.ID] = why
	}
}

func (t *turn) returned(id []byte) { delete(t.open, string(id)) }

// end returns the state once all records were seen.
func (t *turn) end() thread.State {
	t.last = jsonl.Value(t.lastRaw[:t.lastLen]).Time()
	if t.state.Status == thread.Running {
		for _, why := range slices.Sorted(maps.Values(t.open)) {
			t.state.Waiting = cmp.Or(t.state.Waiting, why)
		}
	}
	if t.state.Status != "" {
		if t.state.At.IsZero() {
			t.state.At = t.last
		}
		return t.state
	}
	s := thread.State{Source: thread.Inferred, At: t.last}
	switch {
	case t.question == 0 && t.answer == 0 && len(t.open) == 0:
		s.Status, s.Evidence = thread.PendingInit, "no turn has begun"
	case t.answer > t.question && len(t.open) == 0:
		s.Status, s.Evidence = thread.Completed, fmt.Sprintf("the last word is the agent's, line %d, and this version records no end of a turn", t.answer)
	default:
		s.Status, s.Evidence = thread.Running, "a question or a call has no answer, and this version records no end of a turn"
	}
	return s
}
