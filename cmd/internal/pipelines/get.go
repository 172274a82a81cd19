package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func getCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "get ISSUE STAGE",
		Short: "Print the path of a stage's artifact",
		Long: `Get prints the path of a stage's artifact, relative to the workspace. The exit
code is 3 if the stage has not been done.`,
		Example: "  handoff pipeline get 42 plan",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			f, err := p.Get(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.print(f, func() { fmt.Fprintln(a.Out, cli.OneLine(f.Path)) })
		})
	}
	return c
}
