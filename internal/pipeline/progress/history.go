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
	h := history{s: &s, list: []pipeline.Attempt{}, count: map[string]int{}, numbers: map[string]int{}}
	for i, a := range s.Attempts {
		h.add(a, s.isCurrent(i))
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok && h.count[stage.Name] == 0 {
			h.add(attemptOf(stage.Name, out), true)
		}
	}
	for i, a := range s.NoteAttempts {
		e := h.entry(a)
		e.Attempt = i + 1
		if e.Current = i == s.currentNotes(); e.Current {
			e.Path = s.file(contract.StateFile)
		}
		h.insert(e)
	}
	for _, a := range s.Rejected {
		h.insert(h.entry(a))
	}
	if !s.ordered() {
		at := func(name string) int {
			return slices.IndexFunc(p.Stages, func(s *contract.Stage) bool { return s.Name == name })
		}
		order.Sort(h.list, func(a, b pipeline.Attempt) int { return cmp.Compare(at(a.Stage), at(b.Stage)) })
	}
	return h.list
}

// A history is the list of attempts while it is made.
type history struct {
	s       *State
	list    []pipeline.Attempt
	count   map[string]int // of attempts, by stage
	numbers map[string]int // of attempts, by ID, and by stage and digest
}

// entry returns an attempt without its number.
func (h *history) entry(a Attempt) pipeline.Attempt {
	e := pipeline.Attempt{Stage: a.Stage, Ref: a.Ref, Rev: a.Revision, ID: a.ID, Agent: a.Agent, Outcome: a.Outcome,
		Gate: a.Gate, Read: []string{}, Assumed: a.Assumed, Decisions: a.Decisions, StartedAt: a.Started,
		DurationMS: a.Took.Milliseconds(), At: a.At}
	for _, stage := range slices.Sorted(maps.Keys(a.Read)) {
		number, ok := h.numbers[a.From[stage]]
		if !ok {
			number = h.numbers[stage+" "+a.Read[stage]]
		}
		e.Read = append(e.Read, attemptName(stage, number))
	}
	return e
}

// add adds an attempt that counts, after the others.
func (h *history) add(a Attempt, current bool) {
	h.count[a.Stage]++
	e := h.entry(a)
	e.Attempt, e.Current = h.count[a.Stage], current
	if current {
		e.Path = h.s.file(h.s.Outputs[a.Stage].File)
	}
	h.numbers[a.Stage+" "+a.Digest] = e.Attempt
	if a.ID != "" {
		h.numbers[a.ID] = e.Attempt
	}
	h.list = append(h.list, e)
}

// insert adds an attempt by its time.
func (h *history) insert(e pipeline.Attempt) {
	at := slices.IndexFunc(h.list, func(later pipeline.Attempt) bool { return later.At.After(e.At) })
	if at < 0 {
		at = len(h.list)
	}
	h.list = slices.Insert(h.list, at, e)
}

// counted returns the attempts that count.
func counted(list []pipeline.Attempt) []pipeline.Attempt {
	return slices.DeleteFunc(slices.Clone(list), func(e pipeline.Attempt) bool { return e.Attempt == 0 })
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
