package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// An Attempt is one time that a stage was done.
type Attempt struct {
	Stage   string     `json:"stage"`
	Attempt int        `json:"attempt"`       // from 1
	Ref     string     `json:"ref,omitempty"` // what handoff read takes; "" where there is no record
	ID      string     `json:"id,omitempty"`  // of its record
	Agent   string     `json:"agent"`
	Outcome string     `json:"outcome"`
	Read    []string   `json:"read"`   // the attempts that it was made from: test#2; test#? where that one isn't known
	At      *time.Time `json:"at"`     // when it was recorded, null where it wasn't
	Stands  bool       `json:"stands"` // it is what the run's folder holds
}

// HistoryOf returns the attempts of a run, as far as they are known, oldest
// first. Where nothing tells of the order it is that of the stages.
func HistoryOf(p *contract.Pipeline, s State) []Attempt {
	list, count := []Attempt{}, map[string]int{}
	numbers := map[string]int{} // of attempts, by stage and digest
	add := func(w Write, stands bool) {
		count[w.Stage]++
		a := Attempt{Stage: w.Stage, Attempt: count[w.Stage], Ref: w.Ref, ID: w.ID, Agent: w.Agent, Outcome: w.Outcome, Read: []string{}, Stands: stands}
		if !w.At.IsZero() {
			a.At = &w.At
		}
		for _, stage := range sortedKeys(w.Read) {
			a.Read = append(a.Read, name(stage, numbers[stage+" "+w.Read[stage]]))
		}
		numbers[w.Stage+" "+w.Digest] = a.Attempt
		list = append(list, a)
	}
	stands := s.stands()
	for i, w := range s.Writes {
		add(w, stands[i])
	}
	for _, stage := range p.Stages {
		if out, there := s.Outputs[stage.Name]; there && count[stage.Name] == 0 {
			w := s.write(stage.Name, out)
			w.Digest = out.Digest
			add(w, true)
		}
	}
	return list
}

func name(stage string, number int) string {
	if number == 0 {
		return stage + "#?"
	}
	return fmt.Sprintf("%s#%d", stage, number)
}

// Row is the attempt as cells of a table: stage, attempt, agent, outcome, what
// it was made from, when, ref.
func (a Attempt) Row() []string {
	at := "unknown"
	if a.At != nil {
		at = a.At.Format(time.RFC3339)
	}
	return []string{a.Stage, strconv.Itoa(a.Attempt), a.Agent, a.Outcome, strings.Join(a.Read, " "), at, a.Ref}
}
