package workspace

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/work"
)

// candidates returns what Reviews.Candidates does.
func (w *Workspace) candidates(set *thread.Set) candidates.Candidates {
	of := set
	if w.threads != nil {
		of = w.threads
	}
	return candidates.New(w.c, w.attribution(of), candidates.Options{Sessions: w.Sessions().Compare,
		Finish: func(ctx context.Context, a handoff.Artifact) []string {
			return append(w.renderName(ctx, a), w.c.Finish(ctx, a.Producer.Session)...)
		},
		Next: func(ctx context.Context, a handoff.Artifact) (pipeline.Step, error) {
			if a.Name == "" || !pipelines.IsStage(a) {
				return pipeline.Step{}, nil
			}
			return w.Pipelines().Next(ctx, a.Namespace, false)
		},
		Costs: func(ctx context.Context) (map[string]candidates.CandidateCost, []string, error) {
			report, err := w.Work(set).Cost(ctx, work.CostOptions{By: "artifact"})
			return candidates.CostsOf(report.Rows), report.Warnings, err
		}})
}

// renderName writes the file of a name again, whose head may be another one.
func (w *Workspace) renderName(ctx context.Context, a handoff.Artifact) (warnings []string) {
	switch {
	case a.Name == "":
		return nil
	case pipelines.IsStage(a):
		if _, err := w.Pipelines().RestoreStage(ctx, a.Namespace, a.Name); err != nil {
			warnings = append(warnings, fmt.Sprintf("%s is not up to date: %v", a.Path, err))
		}
		return warnings
	}
	return w.renderHead(ctx, a.Namespace, a.Name)
}
