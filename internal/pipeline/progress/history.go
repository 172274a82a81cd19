package progress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/pipeline"
)

// HistoryOf returns the known attempts of a run, oldest first. If the order is
// unknown, it is that of the stages.
func HistoryOf(p *contract.Pipeline, s State) []pipeline.Attempt {
	list, count := []pipeline.Attempt{}, map[string]int{}
	numbers := map[string]int{} // of attempts, by ID, and by stage and digest
	add := func(a Attempt, current bool) {
		count[a.Stage]++
		e := pipeline.Attempt{Stage: a.Stage, Attempt: count[a.Stage], Ref: a.Ref, Rev: a.Revision, ID: a.ID, Agent: a.Agent,
			Outcome: a.Outcome, Gate: a.Gate, Read: []string{}, Assumed: a.Assumed, At: a.At, Current: current}
		for _, stage := range slices.Sorted(maps.Keys(a.Read)) {
			number, ok := numbers[a.From[stage]]
			if !ok {
				number = numbers[stage+" "+a.Read[stage]]
			}
			e.Read = append(e.Read, attemptName(stage, number))
		}
		if current {
			e.Path = s.file(s.Outputs[a.Stage].File)
		}
		numbers[a.Stage+" "+a.Digest] = e.Attempt
		if a.ID != "" {
			numbers[a.ID] = e.Attempt
		}
		list = append(list, e)
	}
	for i, a := range s.Attempts {
		add(a, s.isCurrent(i))
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok && count[stage.Name] == 0 {
			add(attemptOf(stage.Name, out), true)
		}
	}
	for i, a := range s.NoteAttempts {
		e := pipeline.Attempt{Stage: a.Stage, Attempt: i + 1, Ref: a.Ref, Rev: a.Revision, ID: a.ID, Agent: a.Agent,
			Read: []string{}, At: a.At}
		if e.Current = i == s.currentNotes(); e.Current {
			e.Path = s.file(contract.StateFile)
		}
		at := slices.IndexFunc(list, func(later pipeline.Attempt) bool { return later.At.After(a.At) })
		if at < 0 {
			at = len(list)
		}
		list = slices.Insert(list, at, e)
	}
	if !s.ordered() {
		at := func(name string) int {
			return slices.IndexFunc(p.Stages, func(s *contract.Stage) bool { return s.Name == name })
		}
		order.Sort(list, func(a, b pipeline.Attempt) int { return cmp.Compare(at(a.Stage), at(b.Stage)) })
	}
	return list
}

// ordered reports whether the order of attempts is known, from records or from
// the run's own trace.
func (s *State) ordered() bool {
	return slices.ContainsFunc(s.Attempts, func(a Attempt) bool { return a.ID != "" || a.Digest == "" })
}

func attemptName(stage string, number int) string {
	if number == 0 {
		return stage + "#?"
	}
	return fmt.Sprintf("%s#%d", stage, number)
}
