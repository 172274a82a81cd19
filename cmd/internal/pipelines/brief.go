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
		Short: "Print the paths that an agent reads and writes, for its prompt",
		Long: `Brief prints the paths that an agent reads, each with a one-line summary, and
the path that it writes. It does not print artifacts. If the agent acts next,
the paths are those of next, and the ticket for put --ticket follows; otherwise
they are all that it may read and write.`,
		Example: "  handoff pipeline brief 42 --for jg-worker",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&agent, "for", "", "agent `name`")
	c.Flags().IntVar(&limit, "bytes", 2000, "maximum `number` of bytes to print")
	c.MarkFlagRequired("for")
	c.RegisterFlagCompletionFunc("for", a.completeAgent)
	cli.Answers(a.App, c, cli.Prints(pipeline.Brief{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			b, err := p.Brief(c.Context(), args[0], agent, limit)
			if err != nil {
				return err
			}
			return a.print(b, func() { a.lines(b.Brief) })
		})
	}
	return c
}
