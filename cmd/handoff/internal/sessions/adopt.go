package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func adoptCommand(a *cli.App) *cobra.Command {
	var lenient bool
	c := &cobra.Command{
		Use:   "adopt DIR",
		Short: "Bring in a session folder that another engine wrote",
		Long: `Adopt reads the manifest of a folder below the workspace, records the session
with its outputs, links and end, and from then on renders the manifest. Fields
that handoff doesn't know stay in it. What breaks the specification is told with
its JSON pointer, and refused; with --lenient it is told and taken as far as it
can be. A file outside the folder is never taken.`,
		Example: "  handoff session adopt docs/agent-outputs/a3f2c9d1-4b5e-4789-81ab-cdef12345678",
		Args:    cli.Exactly(1, "one directory"),
	}
	c.Flags().BoolVar(&lenient, "lenient", false, "take a manifest that breaks the specification")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.WritingTidy(func(w *workspace.Workspace) error {
			folder, err := w.Inside(w.Home(), args[0])
			if err != nil {
				return err
			}
			producer, err := new(cli.Identity).Resolve(a)
			if err != nil {
				return err
			}
			s, warnings, err := w.SessionsAs(producer).Adopt(c.Context(), folder, lenient)
			if err != nil {
				return err
			}
			for _, text := range warnings {
				a.Warn("%s", text)
			}
			fmt.Fprintln(a.Out, s.ID)
			return nil
		})
	}
	return c
}
