package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func briefCommand(a *app) *cobra.Command {
	var agent string
	var limit int
	c := &cobra.Command{
		Use:   "brief ISSUE --for AGENT",
		Short: "Print a prompt for the agent of a stage",
		Long: `Brief prints a prompt for an agent: what it does and why, the paths that it
reads, each with a one-line summary, the path that it writes, the ticket for put
--ticket, and the commands that check and submit the result. It does not print
artifacts. An agent that does not act next gets the paths of all that it may
read and write.`,
		Example: "  handoff pipeline brief 42 --for jg-worker\n  claude -p \"$(handoff pipeline brief 42 --for builder)\"",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&agent, "for", "", "agent `name`")
	c.Flags().IntVar(&limit, "bytes", 2000, "maximum `number` of bytes to print")
	c.MarkFlagRequired("for")
	c.RegisterFlagCompletionFunc("for", a.completeAgent)
	cli.Answers(a.App, c, cli.Prints(pipeline.Brief{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			b, err := p.Brief(c.Context(), args[0], agent, limit, cli.HintText)
			if err != nil {
				return err
			}
			return a.print(b, func() { a.lines(b.Brief) })
		})
	}
	return c
}
