package claude

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn tracks the status of a thread.
type turn struct {
	State    thread.State
	Ends     bool // the version or the transcript records the end of answers
	Seldom   bool // the version gives the reason only for some answers
	Open     thread.PendingCalls
	NoEnd    bool // the last answer has no recorded end
	Failed   bool // the turn has an error or an interruption
	Question bool // the last text ends with a question
}

var (
	turnEnds    = []int{2, 1, 9}  // the first version that records the end of a session's turns
	answersEnds = []int{2, 1, 76} // the first version that records why each answer ended
)

// newTurn returns the turn of a transcript that a version wrote.
func newTurn(version string, agent bool) turn {
	version, _, _ = strings.Cut(version, "-")
	parts := strings.SplitN(version, ".", 3)
	var v [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return turn{}
		}
		v[i] = n
	}
	known := len(parts) == 3
	reasons := known && slices.Compare(v[:], answersEnds) >= 0
	return turn{Ends: reasons || known && !agent && slices.Compare(v[:], turnEnds) >= 0, Seldom: known && !reasons}
}

func (t *turn) set(s thread.Status, reason string, line int, at time.Time) {
	t.State = thread.ReadState(s, thread.Child, at, "%s, line %d", reason, line)
	t.NoEnd = false
}

// started handles the start of a turn.
func (t *turn) started(reason string, line int, at time.Time) {
	t.set(thread.Running, reason, line, at)
	t.Failed, t.Question = false, false
	clear(t.Open)
}

// continued handles a record within a turn.
func (t *turn) continued(reason string, line int, at time.Time) {
	t.set(thread.Running, reason, line, at)
	t.Failed = false
}

// answered handles a part of an answer: whether it has tool calls, and whether it is
// only thinking, after which the answer goes on.
func (t *turn) answered(stop jsonl.Value, calls, thinks bool, line int, at time.Time) {
	reason := string(stop.Raw())
	t.Ends = t.Ends || reason != "" && !t.Seldom
	t.Failed = false
	switch {
	case calls, reason == "tool_use", reason == "pause_turn", len(t.Open) > 0:
		t.set(thread.Running, "tool_use", line, at)
	case reason != "":
		t.set(thread.Completed, reason, line, at)
	default:
		t.set(thread.Running, "an answer without its end", line, at)
		t.NoEnd = !thinks
	}
}

// checkQuestion checks whether the last text of an answer ends with a question.
func (t *turn) checkQuestion(content jsonl.Value) {
	for c := content.Elements(); c.Next(); {
		if v := c.Value(); v.Get("type").Is("text") {
			text := bytes.TrimRight(v.Get("text").Raw(), " ")
			for bytes.HasSuffix(text, []byte(`\n`)) {
				text = bytes.TrimRight(text[:len(text)-2], " ")
			}
			t.Question = bytes.HasSuffix(text, []byte("?"))
		}
	}
}

func (t *turn) called(c thread.Call) {
	waiting := ""
	switch c.Name {
	case "AskUserQuestion":
		waiting = "an answer"
	case "ExitPlanMode", "exit_plan_mode":
		waiting = "approval of the plan it proposed"
	}
	t.Open.Add(c.ID, waiting)
}

// fail handles an error or an interruption. A following end of the turn does not
// change the status.
func (t *turn) fail(reason string, line int, at time.Time) {
	t.set(thread.Errored, reason, line, at)
	t.Failed = true
	clear(t.Open)
}

// ended handles the end of a turn.
func (t *turn) ended(kind string, line int, at time.Time) {
	t.Ends = true
	if !t.Failed && t.State.Status != "" {
		t.set(thread.Completed, kind, line, at)
		clear(t.Open)
	}
}

// end returns the state after the last record.
func (t *turn) end(last time.Time) thread.State {
	s := t.State
	switch {
	case s.Status == "":
		return thread.ReadState(thread.PendingInit, thread.Inferred, last, "no turn has started")
	case t.NoEnd && !t.Ends:
		s.Status, s.Source, s.NoEnd = thread.Completed, thread.Inferred, true
		s.Evidence = "last message is from the agent, and this transcript does not record the end of answers: " + s.Evidence
	}
	switch s.Status {
	case thread.Running:
		s.Waiting = t.Open.Waiting()
	case thread.Completed:
		if t.Question {
			s.Waiting = thread.WaitingFor("?")
		}
	}
	if s.At.IsZero() {
		s.At = last
	}
	return s
}
