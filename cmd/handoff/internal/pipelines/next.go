package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func nextCommand(d *desk) *cobra.Command {
	var acceptStale bool
	c := &cobra.Command{
		Use:   "next ISSUE",
		Short: "Show which agent acts next, and why",
		Long: `Next reads the artifacts of a run and prints the next step: the agent, the files
it reads, the file it writes, and the reason. The step depends on the contents
of the artifacts, on what they were made from, and on the known order of the
writes, never on file times.

A stage is stale if an artifact that it was made from has changed. Stale stages
are repeated first, unless --accept-stale is given.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline next 42 --json",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&acceptStale, "accept-stale", false, "build on stale artifacts")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.run(c.Context(), args[0], func(_ *workspace.Workspace, p *contract.Pipeline, s pipeline.State) error {
			s.AcceptStale = acceptStale
			step := pipeline.Next(p, s)
			return d.print(step, func() { d.lines(step.String()) })
		})
	}
	return c
}
