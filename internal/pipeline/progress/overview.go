package progress

import (
	"maps"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// OverviewOf returns the stages and attempts of a run, without its next step. A stage is stale
// if something it was made from has changed since or is stale itself.
func OverviewOf(p *contract.Pipeline, s State) pipeline.Overview {
	o := pipeline.Overview{Issue: s.Issue, Folder: s.file(""), Complexity: s.Complexity, Stages: []pipeline.StageResult{},
		Attempts: HistoryOf(p, s)}
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

// Stale returns the stale stages, each with the reason. What the log has of an attempt
// decides; of what has no record, it is that something it was made from has changed since or
// is stale.
func Stale(p *contract.Pipeline, s State) map[string]string {
	s.AcceptStale = false
	w := &walk{p: p, s: &s}
	reasons, local := map[string]string{}, map[string]bool{} // local is not in the log
	recorded := func(stage string) bool {
		at := s.last(stage)
		return at >= 0 && s.Attempts[at].ID != "" && s.Attempts[at].Digest == s.Outputs[stage].Digest
	}
	for _, stage := range p.Stages {
		if _, ok := s.Outputs[stage.Name]; !ok {
			continue
		}
		known := recorded(stage.Name)
		if known {
			reasons[stage.Name] = s.Attempts[s.last(stage.Name)].Stale
		}
		stale := !known || reasons[stage.Name] != ""
		for _, input := range w.inputs(stage) {
			from := s.Outputs[input].File
			switch {
			case s.newer(input, stage.Name) && (stale || !recorded(input)):
				reasons[stage.Name], local[stage.Name] = from+" changed since", !known || !recorded(input)
			case (stale || local[input]) && reasons[input] != "" && !strings.HasSuffix(reasons[stage.Name], " changed since"):
				reasons[stage.Name], local[stage.Name] = from+" is stale", local[input]
			}
		}
	}
	maps.DeleteFunc(reasons, func(_, why string) bool { return why == "" })
	return reasons
}
