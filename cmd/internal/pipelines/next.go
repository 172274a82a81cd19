package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func nextCommand(a *app) *cobra.Command {
	var acceptStale bool
	c := &cobra.Command{
		Use:   "next ISSUE",
		Short: "Show which agent acts next, what it reads and writes, and why",
		Long: `Next reads the artifacts of a run and prints the next step: the agent, the files
it reads, the file it writes, the reason, and a ticket, which names its inputs
for put --ticket. It uses the content of artifacts, what they were made from,
and the known order of attempts, but not file times.

If an input of an artifact was done again since, the artifact's stage is
repeated first, unless --accept-stale is given. After the last retry of a stage,
a person acts next. If different writers submitted different results for one
attempt, a person decides first, by accepting one or withdrawing the others.

Work on the stage that was started and has not ended is shown; see handoff
pipeline start.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline next 42 --json",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&acceptStale, "accept-stale", false, "build on artifacts whose inputs have changed")
	cli.Answers(a.App, c, cli.Prints(pipeline.Step{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			step, err := p.Next(c.Context(), args[0], acceptStale)
			if err != nil {
				return err
			}
			a.warnOutdated(args[0], step.Outdated)
			return a.print(step, func() { a.step(step) })
		})
	}
	return c
}
