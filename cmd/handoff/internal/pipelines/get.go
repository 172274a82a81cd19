package pipelines

import (
	"fmt"
	"path"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func getCommand(d *desk) *cobra.Command {
	c := &cobra.Command{
		Use:   "get ISSUE STAGE",
		Short: "Print the path of a stage's artifact",
		Long: `Get prints the path of a stage's artifact, relative to the workspace. It does
not print the content. Exit code 3: the stage has no artifact.`,
		Example: "  handoff pipeline get 42 plan",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.book(func(w *workspace.Workspace, b *pipeline.Runs) error {
			file, err := b.Path(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			file = path.Join(base(w), file)
			return d.print(map[string]string{"issue": args[0], "stage": args[1], "path": file}, func() { fmt.Fprintln(d.Out, cli.OneLine(file)) })
		})
	}
	return c
}
