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
		Short: "Import a session folder created by another engine",
		Long: `Adopt reads the manifest of a folder in the workspace and records the session
with its outputs, links and status. From then on handoff renders the manifest;
unknown fields are preserved.

A manifest that violates the specification is rejected, with a JSON pointer to
each error. With --lenient the errors are warnings and the valid parts are
imported. Files outside the folder are never imported.`,
		Example: "  handoff session adopt docs/agent-outputs/a3f2c9d1-4b5e-4789-81ab-cdef12345678",
		Args:    cli.Exactly(1, "one directory"),
	}
	c.Flags().BoolVar(&lenient, "lenient", false, "import the valid parts of an invalid manifest")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			done, err := w.AdoptSession(c.Context(), args[0], lenient)
			if err == nil && !a.AsJSON {
				fmt.Fprintln(a.Out, done.ID)
			}
			return done, err
		})
	}
	return c
}
