package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func adoptCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "adopt ISSUE",
		Short: "Record the files of a run as they are",
		Long: `Adopt records the artifacts in the folder of a run as they are and prints their
paths: those without a record, and those that violate their contract. From then
on, what they violate is a warning, so that a run of another tool continues from
its state. The files are not changed.

The order of attempts is that of pipeline-trace.json, if the run has one, and
otherwise that of the stages.`,
		Example: "  handoff pipeline adopt 42\n  handoff pipeline next 42",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be recorded, and record nothing")
	cli.Answers(a.App, c, cli.Prints(pipeline.Adoption{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		run := a.Writing
		if dryRun {
			run = a.Reading
		}
		return run(func(w *workspace.Workspace) error {
			done, err := w.Pipelines().Adopt(c.Context(), args[0], dryRun)
			if err != nil {
				return err
			}
			for _, s := range done.Adopted {
				for _, p := range s.Problems {
					a.Warn("%s: %s", s.Path, p)
				}
			}
			a.Warnings(done.Warnings)
			return a.print(done, func() {
				for _, s := range done.Adopted {
					fmt.Fprintln(a.Out, textfmt.OneLine(s.Path))
				}
			})
		})
	}
	return c
}
