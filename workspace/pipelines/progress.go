package pipelines

import (
	"cmp"
	"context"

	"github.com/agent-handoff/handoff/pipeline"
)

// Progress returns where the runs of p are that are not archived or completed. What can't be
// read of a run is a warning.
func Progress(ctx context.Context, p Runs) (open []pipeline.Progress, warnings []string, err error) {
	list, err := p.List(ctx)
	for _, run := range list.Runs {
		if run.Archived || run.Status == "completed" || err != nil {
			continue
		}
		one := pipeline.Progress{RunSummary: run}
		overview, failed := p.Overview(ctx, run.Name)
		if failed != nil {
			list.Warnings = append(list.Warnings, run.Name+": "+failed.Error())
		}
		one.Reason = overview.Next.Reason
		for _, a := range overview.Attempts {
			if a.At.After(one.Since) {
				one.Since = a.At
			}
		}
		open = append(open, one)
	}
	return open, list.Warnings, cmp.Or(err, ctx.Err())
}
