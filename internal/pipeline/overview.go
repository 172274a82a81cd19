package pipeline

import (
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// An Overview is the summary of a run.
type Overview struct {
	Issue      string      `json:"issue"`
	Folder     string      `json:"folder"` // relative to the workspace
	Complexity string      `json:"complexity,omitempty"`
	Stages     []StageView `json:"stages"` // the ones that were done, in the pipeline's order
	Next       Step        `json:"next"`
}

// A StageView is the result of one stage.
type StageView struct {
	Stage    string `json:"stage"`
	Agent    string `json:"agent"` // its writer
	Path     string `json:"path"`
	Ref      string `json:"ref,omitempty"` // "" if the content of the file has no record
	Outcome  string `json:"outcome"`
	Summary  string `json:"summary"`
	Attempts int    `json:"attempts"`
	Problems int    `json:"problems"`        // violations of its contract
	Stale    string `json:"stale,omitempty"` // why it is out of date
}

// OverviewOf returns the summary of a run. A stage is stale if something it was
// made from has changed since or is stale itself.
func OverviewOf(p *contract.Pipeline, s State) Overview {
	o := Overview{Issue: s.Issue, Folder: s.Folder, Complexity: s.Complexity, Stages: []StageView{}, Next: Next(p, s)}
	stale := Stale(p, s)
	for _, stage := range p.Stages {
		out, ok := s.Outputs[stage.Name]
		if !ok {
			continue
		}
		v := StageView{Stage: stage.Name, Agent: stage.Writer, Path: s.file(out.File),
			Outcome: contract.Outcome(out.Report.Value),
			Summary: summarize(stage, out.Report.Value), Problems: len(out.Report.Errors), Stale: stale[stage.Name]}
		v.Attempts, _ = s.countAttempts(stage.Name, "")
		if at := s.last(stage.Name); at >= 0 && s.Attempts[at].ID != "" {
			v.Ref = s.Issue + "/" + stage.Artifact
		}
		o.Stages = append(o.Stages, v)
	}
	return o
}

// Stale returns the stale stages, each with the reason: something its artifact
// was made from has changed since or is stale.
func Stale(p *contract.Pipeline, s State) map[string]string {
	s.AcceptStale = false
	w := &walk{p: p, s: &s}
	reasons := map[string]string{}
	for _, stage := range p.Stages {
		if _, ok := s.Outputs[stage.Name]; !ok {
			continue
		}
		for _, input := range w.inputs(stage) {
			from := s.Outputs[input].File
			switch {
			case s.newer(input, stage.Name):
				reasons[stage.Name] = from + " changed since"
			case reasons[input] != "" && reasons[stage.Name] == "":
				reasons[stage.Name] = from + " is stale"
			}
		}
	}
	return reasons
}
