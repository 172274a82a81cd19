package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func initCommand(a *app) *cobra.Command {
	var complexity, name string
	var restore bool
	c := &cobra.Command{
		Use:   "init ISSUE",
		Short: "Create the folder of a run",
		Long: `Init creates .pipeline/ISSUE, unless it exists, and prints its path.

The run has the pipeline at the top level of handoff.pipeline.yaml, which is at
the root of the main worktree, or the one that --pipeline names. Without that
file it is jg, the built-in one. A run keeps the definition that it started
with: pipeline.yaml in its folder.

With --complexity it also creates the state.yaml of the built-in pipeline, in
which a trivial issue needs no plan.

With --restore it writes the files of a run whose folder was removed, from the
records of its newest attempts.`,
		Example: "  handoff pipeline init 42\n  handoff pipeline init v1.2 --pipeline release",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&complexity, "complexity", "", "`level` of complexity: trivial, standard or complex")
	c.Flags().StringVar(&name, "pipeline", "", "`name` of a pipeline in handoff.pipeline.yaml, or jg")
	c.Flags().BoolVar(&restore, "restore", false, "write missing files of the run from its records")
	c.MarkFlagsMutuallyExclusive("complexity", "restore")
	c.MarkFlagsMutuallyExclusive("pipeline", "restore")
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
				run, err = p.Init(c.Context(), args[0], pipelines.InitOptions{Complexity: complexity, Pipeline: name})
			}
			if err != nil {
				return err
			}
			return a.print(run, func() { fmt.Fprintln(a.Out, run.Path) })
		})
	}
	return c
}
