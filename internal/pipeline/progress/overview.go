package progress

import (
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// OverviewOf returns the summary of a run. A stage is stale if something it was
// made from has changed since or is stale itself.
func OverviewOf(p *contract.Pipeline, s State) pipeline.Overview {
	o := pipeline.Overview{Issue: s.Issue, Folder: s.file(""), Complexity: s.Complexity, Stages: []pipeline.StageResult{},
		Next: Next(p, s)}
	stale := Stale(p, s)
	for _, stage := range p.Stages {
		out, ok := s.Outputs[stage.Name]
		if !ok {
			continue
		}
		v := pipeline.StageResult{Stage: stage.Name, Agent: stage.Writer, Path: s.file(out.File),
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
