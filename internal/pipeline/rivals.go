package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A Choice is one of several results of different writers for one attempt of a stage. A
// person decides by withdrawing the others.
type Choice struct {
	ID      string `json:"id"` // of its record
	Ref     string `json:"ref"`
	Rev     int    `json:"rev"` // revision of Ref
	Agent   string `json:"agent"`
	Outcome string `json:"outcome"`
}

// String describes the result in one line.
func (c Choice) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s@v%d  %s  %s", c.Ref, c.Rev, c.ID, c.Outcome))
}

// Hint suggests to withdraw the result.
func (c Choice) Hint() handoff.Hint {
	return handoff.Suggest("reject the "+cmp.Or(c.Outcome, "result"), handoff.ActionWithdraw, c.ID)
}

// writerOf returns who wrote a record: its run, session or thread, otherwise its agent.
func writerOf(p handoff.Producer) string { return cmp.Or(p.RunID, p.Session, p.Thread, p.Agent) }

// sameWork reports whether two attempts are results for one number of a stage, made from
// the same inputs.
func (a Attempt) sameWork(b Attempt) bool {
	return a.Number > 0 && a.Number == b.Number && a.Stage == b.Stage && maps.Equal(a.Read, b.Read) &&
		maps.Equal(a.From, b.From)
}

// isRival reports whether another writer did the work of an attempt before, by its index.
func (s *State) isRival(i int) bool {
	return slices.ContainsFunc(s.Attempts[:i], func(before Attempt) bool {
		return before.sameWork(s.Attempts[i]) && before.Writer != s.Attempts[i].Writer
	})
}

// rivals returns the results that compete with the current one of a stage, and that one,
// oldest first: the newest of each writer. There are none if all have the same content.
func (s *State) rivals(stage string) []Choice {
	at := s.last(stage)
	if at < 0 {
		return nil
	}
	writers, contents, choices := map[string]bool{}, map[string]bool{}, []Choice(nil)
	for _, a := range slices.Backward(s.Attempts) {
		if a.sameWork(s.Attempts[at]) && !writers[a.Writer] {
			writers[a.Writer], contents[a.Digest] = true, true
			choices = append(choices, Choice{ID: a.ID, Ref: a.Ref, Rev: a.Revision, Agent: a.Agent, Outcome: a.Outcome})
		}
	}
	if len(contents) < 2 {
		return nil
	}
	slices.Reverse(choices)
	return choices
}
