package pipeline

import (
	"fmt"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// An Overview is a run at a glance.
type Overview struct {
	Issue      string      `json:"issue"`
	Folder     string      `json:"folder"` // below the workspace
	Complexity string      `json:"complexity,omitempty"`
	Stages     []StageView `json:"stages"` // those that have been done, in the pipeline's order
	Next       Step        `json:"next"`
}

// A StageView is what came of one stage.
type StageView struct {
	Stage    string `json:"stage"`
	Agent    string `json:"agent"` // its writer
	Path     string `json:"path"`
	Ref      string `json:"ref,omitempty"` // "" where no record tells of what the file holds
	Outcome  string `json:"outcome"`
	Summary  string `json:"summary"`
	Attempts int    `json:"attempts"`
	Problems int    `json:"problems"`        // in which it breaks its contract
	Stale    string `json:"stale,omitempty"` // why it can't be built upon any more
}

// OverviewOf returns a run at a glance. A stage is stale where something that
// it was made from changed since, or is stale itself.
func OverviewOf(p *contract.Pipeline, s State) Overview {
	o := Overview{Issue: s.Issue, Folder: s.Folder, Complexity: s.Complexity, Stages: []StageView{}, Next: Next(p, s)}
	stale := Stale(p, s)
	for _, stage := range p.Stages {
		out, there := s.Outputs[stage.Name]
		if !there {
			continue
		}
		v := StageView{Stage: stage.Name, Agent: stage.Writer, Path: s.file(out.File), Outcome: outcome(out.Report.Value),
			Summary: Summary(stage, out.Report.Value), Problems: len(out.Report.Errors), Stale: stale[stage.Name], Attempts: 1}
		if at := s.last(stage.Name); at >= 0 {
			v.Attempts = 0
			for _, w := range s.Writes {
				if w.Stage == stage.Name {
					v.Attempts++
				}
			}
			if s.Writes[at].ID != "" {
				v.Ref = s.Issue + "/" + stage.Artifact
			}
		}
		o.Stages = append(o.Stages, v)
	}
	return o
}

// Stale returns the stages whose artifact can't be built upon, and why: what it
// was made from changed since, or is stale.
func Stale(p *contract.Pipeline, s State) map[string]string {
	s.AcceptStale = false
	w := &walk{p: p, s: &s}
	reasons := map[string]string{}
	for _, stage := range p.Stages {
		if _, there := s.Outputs[stage.Name]; !there {
			continue
		}
		for _, input := range w.inputs(stage) {
			from := s.Outputs[input].File
			switch {
			case s.newer(input, stage.Name):
				reasons[stage.Name] = from + " changed after it"
			case reasons[input] != "" && reasons[stage.Name] == "":
				reasons[stage.Name] = from + " is stale"
			}
		}
	}
	return reasons
}

// Row is the stage as cells of a table: stage, outcome, attempts, path, what is
// to be said of it.
func (v StageView) Row() []string {
	mark := ""
	switch {
	case v.Problems > 0:
		mark = fmt.Sprintf("breaks its contract in %d places", v.Problems)
	case v.Stale != "":
		mark = "stale: " + v.Stale
	}
	return []string{v.Stage, v.Outcome, fmt.Sprint(v.Attempts), v.Path, join(v.Summary, mark)}
}
