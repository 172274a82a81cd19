package pipelines

import (
	"strconv"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func listCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List every run, open and archived",
		Long: `List shows every run: its name, its status, the next stage, the agent that acts
next, the number of attempts, and the folder. First come the open runs, then the
archived ones, whose name starts with completed/. The name can be passed to
handoff show and to handoff pipeline get and gate.`,
		Example: "  handoff pipeline list",
		Args:    cli.Exactly(0, ""),
	}
	table := a.NewTable(c, runColumns)
	cli.Answers(a.App, c, cli.Prints(pipeline.List{}))
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.reading(func(p pipelines.Runs) error {
			list, err := p.List(c.Context())
			if err != nil {
				return err
			}
			a.Warnings(list.Warnings)
			return a.list("runs", list, table, runColumns, runRows(list.Runs))
		})
	}
	return c
}

var runColumns = []cli.Column{{Name: "run"}, {Name: "status"}, {Name: "stage", Rank: 1}, {Name: "agent", Rank: 2},
	{Name: "attempts", Rank: 4}, {Name: "folder", Rank: 3, Long: true}}

func runRows(list []pipeline.RunSummary) [][]string {
	rows := make([][]string, len(list))
	for i, r := range list {
		rows[i] = []string{r.Name, r.Status, r.Stage, r.Agent, strconv.Itoa(r.Attempts), r.Folder}
	}
	return rows
}
