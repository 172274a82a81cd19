package sessions

import (
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/spf13/cobra"
)

func renameCommand(a *cli.App) *cobra.Command {
	var f sessionFlag
	c := &cobra.Command{
		Use:     "rename NAME",
		Short:   "Set the name of a session",
		Long:    "Rename sets the name of a session. '' restores the computed name.",
		Example: "  handoff session rename 'Laptops for the new office'",
		Args:    cli.Exactly(1, "one name"),
	}
	f.add(a, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		name := strings.Join(strings.Fields(args[0]), " ")
		if len([]rune(name)) > handoff.MaxTitle {
			return cli.Invalid("rename", name, "name is longer than 120 characters", "shorten it (max 120 characters)")
		}
		return onSession(a, c, &f, func(ss *session.Sessions, id string) ([]string, error) {
			return ss.Note(c.Context(), handoff.SessionNoted{SessionID: id, Name: &name})
		})
	}
	return c
}
