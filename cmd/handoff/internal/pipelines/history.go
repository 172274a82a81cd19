package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/spf13/cobra"
)

func historyCommand(d *desk) *cobra.Command {
	c := &cobra.Command{
		Use:   "history ISSUE",
		Short: "Every attempt of a run, and what each was made from",
		Long: `History lists the attempts of a run, oldest first, in the order of the log: the
stage, the attempt's number, the agent, what came of it, the attempts that it was
made from, when it was handed in, and what handoff read takes to print it. What
only lies in the folder is shown too. A run that was archived is found.`,
		Example: "  handoff pipeline history 42\n  handoff read 42/test-result.json --rev 1",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.past(c.Context(), args[0], func(p *contract.Pipeline, s pipeline.State) error {
			list := pipeline.HistoryOf(p, s)
			rows := make([][]string, len(list))
			for i, a := range list {
				rows[i] = a.Row()
			}
			return d.print(list, func() {
				d.Table([]string{"stage", "attempt", "agent", "outcome", "made from", "handed in", "ref"}, rows)
			})
		})
	}
	return c
}
