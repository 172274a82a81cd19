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
		Short: "Which agent acts next, from what, and why",
		Long: `Next reads a run's artifacts and says what comes next: the agent, the files it
reads, the file it writes, and the reason. It looks at what artifacts say, at
what they were made from, and at the order in which they are known to have been
written, never at file times.

It does not build on an artifact that was made from something that changed
since: that stage is done again first, unless --accept-stale is given.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline next 42 --json",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&acceptStale, "accept-stale", false, "build on artifacts though what they were made from changed")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.run(c.Context(), args[0], func(_ *workspace.Workspace, p *contract.Pipeline, s pipeline.State) error {
			s.AcceptStale = acceptStale
			step := pipeline.Next(p, s)
			return d.print(step, func() { d.lines(step.String()) })
		})
	}
	return c
}
