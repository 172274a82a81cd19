package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func archiveCommand(d *desk) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "archive ISSUE",
		Short: "Move a finished run to .pipeline/completed",
		Long: `Archive moves .pipeline/ISSUE to .pipeline/completed and prints the new path. If
that name is in use, the run becomes ISSUE.2, and so on. The move is recorded:
submitted artifacts are still found by their refs.

A run that is not finished is moved with --force only.`,
		Example: "  handoff pipeline archive 42",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&force, "force", false, "archive a run that is not finished")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.move(func(b *pipeline.Runs) (pipeline.Move, error) { return b.Archive(c.Context(), args[0], force) })
	}
	return c
}

func unarchiveCommand(d *desk) *cobra.Command {
	c := &cobra.Command{
		Use:     "unarchive NAME",
		Short:   "Move an archived run back",
		Long:    `Unarchive moves .pipeline/completed/NAME back to .pipeline and prints its path.`,
		Example: "  handoff pipeline unarchive 42\n  handoff pipeline unarchive 42.2",
		Args:    cli.Exactly(1, "one folder name"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.move(func(b *pipeline.Runs) (pipeline.Move, error) { return b.Unarchive(c.Context(), args[0]) })
	}
	return c
}

func (d *desk) move(do func(*pipeline.Runs) (pipeline.Move, error)) error {
	return d.writing(d.producer(""), func(_ *workspace.Workspace, b *pipeline.Runs) error {
		m, err := do(b)
		if err != nil {
			return err
		}
		for _, warning := range m.Warnings {
			d.Warn("%s", warning)
		}
		return d.print(m, func() { fmt.Fprintln(d.Out, m.To) })
	})
}
