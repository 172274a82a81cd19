package claude

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A turn is what is known of the current turn besides its state.
type turn struct {
	Ends     bool // the version or the transcript records the end of answers
	Seldom   bool // the version gives the reason only for some answers
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
	turns := known && !agent && slices.Compare(v[:], turnEnds) >= 0
	return turn{Ends: reasons || turns, Seldom: known && !reasons}
}

// set sets the state after a record.
func (d *decode) set(s thread.Status, reason string, at time.Time) {
	d.State(s, at, "%s, line %d", reason, d.n)
	d.Turn.NoEnd = false
}

// started decodes the start of a turn.
func (d *decode) started(reason string, at time.Time) {
	if !d.own() {
		return
	}
	d.set(thread.Running, reason, at)
	d.Turn.Failed, d.Turn.Question = false, false
	d.Calls = nil
}

// answered decodes a part of an answer: whether it has tool calls, and whether it is
// only thinking, after which the answer goes on.
func (d *decode) answered(calls, thinks bool, at time.Time) {
	t, reason := &d.Turn, string(d.msg.stop.Raw())
	t.Ends = t.Ends || (reason != "" && !t.Seldom)
	t.Failed = false
	switch {
	case calls, reason == "tool_use", reason == "pause_turn", len(d.Calls) > 0:
		d.set(thread.Running, "tool_use", at)
	case reason != "":
		d.set(thread.Completed, reason, at)
	default:
		d.set(thread.Running, "an answer without its end", at)
		t.NoEnd = !thinks
	}
	for c := d.msg.content.Elements(); c.Next(); {
		if v := c.Value(); v.Get("type").Is("text") {
			t.Question = isQuestion(v.Get("text").Raw())
		}
	}
}

// isQuestion reports whether a text, which is JSON, ends with a question.
func isQuestion(text []byte) bool {
	text = bytes.TrimRight(text, " ")
	for bytes.HasSuffix(text, []byte(`\n`)) {
		text = bytes.TrimRight(text[:len(text)-2], " ")
	}
	return bytes.HasSuffix(text, []byte("?"))
}

// waiting returns what a person has to do about a call of a tool.
func waiting(tool string) string {
	switch tool {
	case "AskUserQuestion":
		return "an answer"
	case "ExitPlanMode", "exit_plan_mode":
		return "approval of the plan it proposed"
	}
	return ""
}

// fail decodes an error or an interruption. A following end of the turn does not
// change the status.
func (d *decode) fail(reason string, at time.Time) {
	if d.own() {
		d.set(thread.Errored, reason, at)
		d.Turn.Failed = true
	}
}

// ended decodes the end of a turn.
func (d *decode) ended(kind string, at time.Time) {
	if !d.own() {
		return
	}
	d.Turn.Ends = true
	if !d.Turn.Failed && d.Facts.State.Status != "" {
		d.set(thread.Completed, kind, at)
		d.Calls = nil
	}
}

// endTurn sets the state after the last record.
func (d *decode) endTurn() {
	t, s := &d.Turn, &d.Facts.State
	switch {
	case s.Status == "":
		d.Infer(thread.PendingInit, d.Facts.Last, "no turn has started")
		return
	case t.NoEnd && !t.Ends:
		s.Status, s.Source, s.NoEnd = thread.Completed, thread.Inferred, true
		const silent = "last message is from the agent, and this transcript does not record the end of answers: "
		s.Evidence = silent + s.Evidence
	}
	switch s.Status {
	case thread.Running:
		s.Waiting = d.Calls.Waiting()
	case thread.Completed:
		if t.Question {
			s.Waiting = thread.WaitingFor("?")
		}
	}
}
