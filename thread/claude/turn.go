package claude

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A turn follows where a thread stands.
type turn struct {
	state  thread.State
	ends   bool // the version, or the transcript, says when an answer ends
	seldom bool // the version does so now and then
	silent bool // the last word is the model's, and does not say whether it is the end
	broken bool // an error or an interruption was recorded in it
	open   map[string]string
	query  bool // the last text ends with a question
}

// endsTold reports whether a version writes why every answer ended, which is so
// since 2.1.76, and whether that can be told.
func endsTold(version string) (told, known bool) {
	parts := strings.SplitN(version, ".", 3)
	var v [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false, false
		}
		v[i] = n
	}
	return slices.Compare(v[:], []int{2, 1, 76}) >= 0, len(parts) == 3
}

func (t *turn) set(s thread.Status, why string, line int, at time.Time) {
	t.state = thread.State{Status: s, Source: thread.Child, Evidence: fmt.Sprintf("%s, line %d", why, line), At: at}
	t.silent = false
}

// begun notes the begin of a turn.
func (t *turn) begun(why string, line int, at time.Time) {
	t.set(thread.Running, why, line, at)
	t.broken, t.query = false, false
	clear(t.open)
}

// worked notes that a turn goes on.
func (t *turn) worked(why string, line int, at time.Time) {
	t.set(thread.Running, why, line, at)
	t.broken = false
}

// answered notes a part of an answer; asks says that it calls a tool.
func (t *turn) answered(stop jsonl.Value, asks bool, line int, at time.Time) {
	reason := string(stop.Raw())
	t.ends = t.ends || reason != "" && !t.seldom
	t.broken = false
	switch {
	case asks, reason == "tool_use", reason == "pause_turn", len(t.open) > 0:
		t.set(thread.Running, "tool_use", line, at)
	case reason != "":
		t.set(thread.Completed, reason, line, at)
	default:
		t.set(thread.Running, "an answer without its end", line, at)
		t.silent = true
	}
}

// asked notes whether the last text of an answer ends with a question.
func (t *turn) asked(content jsonl.Value) {
	for c := content.Elements(); c.Next(); {
		if v := c.Value(); v.Get("type").Is("text") {
			text := bytes.TrimRight(v.Get("text").Raw(), " ")
			for bytes.HasSuffix(text, []byte(`\n`)) {
				text = bytes.TrimRight(text[:len(text)-2], " ")
			}
			t.query = bytes.HasSuffix(text, []byte("?"))
		}
	}
}

func (t *turn) called(c thread.Call, line int) {
	why := ""
	switch c.Name {
	case "AskUserQuestion":
		why = "an answer"
	case "ExitPlanMode", "exit_plan_mode":
		why = "approval of the plan it proposed"
	}
	if t.open == nil {
		t.open = map[string]string{}
	}
	if c.ID != "" && len(t.open) < 1024 {
		t.open[c.ID] = why
	}
}

func (t *turn) returned(id string) { delete(t.open, id) }

// failed notes an error or an interruption. The end of a turn that follows is
// the end of a failed one.
func (t *turn) failed(why string, line int, at time.Time) {
	t.set(thread.Errored, why, line, at)
	t.broken = true
	clear(t.open)
}

// ended notes the end of a turn.
func (t *turn) ended(kind string, line int, at time.Time) {
	t.ends = true
	if !t.broken && t.state.Status != "" {
		t.set(thread.Completed, kind, line, at)
		clear(t.open)
	}
}

// end returns the state once all records were seen.
func (t *turn) end(last time.Time) thread.State {
	s := t.state
	switch {
	case s.Status == "":
		return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "no turn has begun", At: last}
	case t.silent && !t.ends:
		s.Status, s.Source = thread.Completed, thread.Inferred
		s.Evidence = "the last word is the agent's, and this version does not say when an answer ends: " + s.Evidence
	}
	switch s.Status {
	case thread.Running:
		for _, why := range slices.Sorted(maps.Values(t.open)) {
			s.Waiting = cmp.Or(s.Waiting, why)
		}
	case thread.Completed:
		if t.query {
			s.Waiting = "an answer to the question its last message ends with"
		}
	}
	if s.At.IsZero() {
		s.At = last
	}
	return s
}
