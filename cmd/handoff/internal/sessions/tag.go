package sessions

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/spf13/cobra"
)

func tagCommand(a *cli.App) *cobra.Command {
	var f sessionFlag
	var untag []string
	c := &cobra.Command{
		Use:     "tag TAG…",
		Short:   "Add or remove session tags",
		Example: "  handoff session tag security q4\n  handoff session tag --untag q4",
	}
	f.add(a, c)
	c.Flags().StringArrayVar(&untag, "untag", nil, "remove a `tag`; may be repeated")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args)+len(untag) == 0 {
			return cli.Invalid("tag", "", "no tag given", "name at least one tag, or pass --untag TAG")
		}
		return onSession(a, c, &f, func(ss *session.Sessions, id string) ([]string, error) {
			return ss.Note(c.Context(), handoff.SessionNoted{SessionID: id, Tags: args, RemovedTags: untag})
		})
	}
	return c
}
