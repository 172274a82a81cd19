package pipelines

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func archiveCommand(a *app) *cobra.Command {
	var o pipeline.ArchiveOptions
	c := &cobra.Command{
		Use:   "archive ISSUE",
		Short: "Archive a finished run",
		Long: `Archive moves .pipeline/ISSUE to .pipeline/completed and prints the new path. If
that name is taken, the folder is named ISSUE~2, and so on. The artifacts of the
run keep their refs, and open work on its stages is recorded as cancelled. A run
is finished if no step is left and the gate of git passes. Files of a run that
are in the folder of another tool stay there.`,
		Example: "  handoff pipeline archive 42",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&o.Force, "force", false, "archive a run that is not finished or whose gate fails")
	c.Flags().BoolVar(&o.AcceptStale, "accept-stale", false,
		"accept artifacts whose inputs have changed, as next --accept-stale does")
	cli.Answers(a.App, c, cli.Prints(pipeline.Move{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.move(func(p pipelines.Runs) (pipeline.Move, error) {
			return p.Archive(c.Context(), args[0], o)
		})
	}
	return c
}

func unarchiveCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "unarchive NAME",
		Short:   "Move an archived run back",
		Long:    "Unarchive moves the folder .pipeline/completed/NAME back to .pipeline and prints\nthe new path.",
		Example: "  handoff pipeline unarchive 42\n  handoff pipeline unarchive 42~2",
		Args:    cli.Exactly(1, "one folder name"),
	}
	c.ValidArgsFunction = func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		_ = a.reading(func(p pipelines.Runs) error { // on an error nothing is completed
			list, err := p.List(c.Context())
			for _, run := range list.Runs {
				if name, archived := strings.CutPrefix(run.Name, "completed/"); archived {
					names = append(names, name)
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cli.Answers(a.App, c, cli.Prints(pipeline.Move{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.move(func(p pipelines.Runs) (pipeline.Move, error) { return p.Unarchive(c.Context(), args[0]) })
	}
	return c
}

func (a *app) move(do func(pipelines.Runs) (pipeline.Move, error)) error {
	return a.Writing(func(w *workspace.Workspace) error {
		m, err := do(w.Pipelines())
		if err != nil {
			return err
		}
		a.Warnings(m.Warnings)
		return a.print(m, func() { fmt.Fprintln(a.Out, m.To) })
	})
}
