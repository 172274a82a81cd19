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
		Short: "List the attempts of a run and their inputs",
		Long: `History lists the attempts of a run, oldest first, in the order of the log:
stage, attempt, agent, outcome, the attempts it was made from, when it was
submitted, and the ref and revision to read it with. Artifacts in the folder
that have no record are listed too. Archived runs are found.`,
		Example: "  handoff pipeline history 42\n  handoff read 42/test-result.json --rev 1",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.past(c.Context(), args[0], func(p *contract.Pipeline, s pipeline.State) error {
			h := pipeline.History{Issue: args[0], Attempts: pipeline.HistoryOf(p, s)}
			rows := make([][]string, len(h.Attempts))
			for i, a := range h.Attempts {
				rows[i] = a.Row()
			}
			return d.print(h, func() {
				d.Table([]string{"stage", "attempt", "agent", "outcome", "made from", "submitted", "ref", "rev"}, rows)
			})
		})
	}
	return c
}
