package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func initCommand(a *app) *cobra.Command {
	var complexity string
	var restore bool
	c := &cobra.Command{
		Use:   "init ISSUE",
		Short: "Create the folder of a run",
		Long: `Init creates .pipeline/ISSUE, unless it exists, and prints its path. With
--complexity it also creates state.yaml. A trivial issue needs no plan.

With --restore it writes the files of a run whose folder was removed, from the
records of its newest attempts.`,
		Example: "  handoff pipeline init 42\n  handoff pipeline init PROJ-7 --complexity trivial",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&complexity, "complexity", "", "`level` of complexity: trivial, standard or complex")
	c.Flags().BoolVar(&restore, "restore", false, "write missing files of the run from its records")
	c.MarkFlagsMutuallyExclusive("complexity", "restore")
	c.RegisterFlagCompletionFunc("complexity",
		cobra.FixedCompletions([]string{"trivial", "standard", "complex"}, cobra.ShellCompDirectiveNoFileComp))
	cli.Answers(a.App, c, cli.Prints(pipeline.Run{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			var run pipeline.Run
			var err error
			if restore {
				run, err = p.Restore(c.Context(), args[0])
			} else {
				run, err = p.Init(args[0], complexity)
			}
			if err != nil {
				return err
			}
			return a.print(run, func() { fmt.Fprintln(a.Out, run.Path) })
		})
	}
	return c
}
