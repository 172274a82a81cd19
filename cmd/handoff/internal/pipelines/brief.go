package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func briefCommand(d *desk) *cobra.Command {
	var agent string
	var bytes int
	c := &cobra.Command{
		Use:   "brief ISSUE --for AGENT",
		Short: "Print what an agent reads and writes, for its prompt",
		Long: `Brief prints the paths that an agent reads, each with a summary of one line, and
the path that it writes, but not the artifacts. If it is the agent's turn, these
are the paths of handoff pipeline next, otherwise all that it reads and writes.`,
		Example: "  handoff pipeline brief 42 --for jg-worker",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&agent, "for", "", "`agent` that the text is for")
	c.Flags().IntVar(&bytes, "bytes", 2000, "maximum `number` of bytes")
	c.MarkFlagRequired("for")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.run(c.Context(), args[0], func(_ *workspace.Workspace, p *contract.Pipeline, s pipeline.State) error {
			text, err := pipeline.Brief(p, s, agent, bytes)
			if err != nil {
				return err
			}
			return d.print(map[string]string{"issue": args[0], "agent": agent, "brief": text}, func() { d.lines(text) })
		})
	}
	return c
}
