package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/workspace"
)

// PrintOverview prints the run of an issue: its stages, what is out of date, and
// what comes next.
func PrintOverview(a *cli.App, o workspace.PipelineOverview) { (&desk{a}).overview(o) }

func (d *desk) overview(o pipeline.Overview) {
	rows := make([][]string, len(o.Stages))
	for i, v := range o.Stages {
		rows[i] = v.Row()
	}
	fmt.Fprintf(d.Out, "%-6s  %s\n%-6s  %s\n", "issue", o.Issue, "folder", o.Folder)
	d.Table([]string{"stage", "outcome", "attempts", "path", "content"}, rows)
	d.lines(o.Next.String())
}
