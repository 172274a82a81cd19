package pipelines

import (
	"fmt"
	"path"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func initCommand(d *desk) *cobra.Command {
	var complexity string
	c := &cobra.Command{
		Use:   "init ISSUE",
		Short: "Create the folder of a run",
		Long: `Init creates .pipeline/ISSUE and prints its path. An existing folder is not
changed. With --complexity it also creates state.yaml: a trivial issue needs no
plan.`,
		Example: "  handoff pipeline init 42\n  handoff pipeline init PROJ-7 --complexity trivial",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().StringVar(&complexity, "complexity", "", "complexity `level` of the issue: trivial, standard or complex")
	c.RegisterFlagCompletionFunc("complexity", cobra.FixedCompletions([]string{"trivial", "standard", "complex"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.book(func(w *workspace.Workspace, b *pipeline.Runs) error {
			folder, err := pipeline.Init(b.Files, args[0], complexity)
			if err != nil {
				return err
			}
			folder = path.Join(base(w), folder)
			return d.print(map[string]string{"issue": args[0], "path": folder}, func() { fmt.Fprintln(d.Out, folder) })
		})
	}
	return c
}
