package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func noteCommand(a *cli.App) *cobra.Command {
	var id, summary string
	var messages int
	var meta []string
	c := &cobra.Command{
		Use:   "note",
		Short: "Update a session's summary and metadata",
		Long: `Note updates a session and renders its manifest. Fields that are not given keep
their values.`,
		Example: "  handoff session note --user-summary 'Purchase 10 laptops' --meta ticket=IT-17",
		Args:    cli.Exactly(0, ""),
	}
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	a.AllowSecretFlag(c)
	c.Flags().StringVar(&summary, "user-summary", "", "`text` of the user's first message")
	c.Flags().IntVar(&messages, "message-count", 0, "`number` of messages")
	c.Flags().StringArrayVar(&meta, "meta", nil, "metadata, as `key=value`; may be repeated")
	c.MarkFlagsOneRequired("user-summary", "message-count", "meta")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var n workspace.SessionNote
		if c.Flags().Changed("user-summary") {
			n.UserSummary = &summary
		}
		if c.Flags().Changed("message-count") {
			n.MessageCount = &messages
		}
		if n.Metadata, err = values("--meta", meta); err != nil {
			return err
		}
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			return w.NoteSession(c.Context(), id, n)
		})
	}
	return c
}
