package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func renameCommand(a *cli.App) *cobra.Command {
	var id string
	c := &cobra.Command{
		Use:     "rename NAME",
		Short:   "Set the name of a session",
		Long:    "Rename sets the name of a session. '' restores the computed name.",
		Example: "  handoff session rename 'Laptops for the new office'",
		Args:    cli.Exactly(1, "one name"),
	}
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	a.AllowSecretFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			return w.RenameSession(c.Context(), id, args[0])
		})
	}
	return c
}
