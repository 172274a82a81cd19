package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func tagCommand(a *cli.App) *cobra.Command {
	var id string
	var remove []string
	c := &cobra.Command{
		Use:     "tag TAG…",
		Short:   "Add or remove session tags",
		Example: "  handoff session tag security q4\n  handoff session tag --untag q4",
	}
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	a.AllowSecretFlag(c)
	c.Flags().StringArrayVar(&remove, "untag", nil, "remove a `tag`; may be repeated")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args)+len(remove) == 0 {
			return cli.Invalid("session tag", "", "no tag given", "name at least one tag, or pass --untag TAG")
		}
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			return w.TagSession(c.Context(), id, args, remove)
		})
	}
	return c
}
