package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func closeCommand(a *cli.App) *cobra.Command {
	var id, status, reason string
	c := &cobra.Command{
		Use:   "close --status completed|failed|cancelled",
		Short: "Close a session",
		Long: `Close records that a session ended, and its status. The first close wins; later
ones are recorded and shown separately.`,
		Example: "  handoff session close --status completed",
		Args:    cli.Exactly(0, ""),
	}
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	a.AllowSecretFlag(c)
	c.Flags().StringVar(&status, "status", "", "final `status`: completed, failed or cancelled")
	c.Flags().StringVar(&reason, "reason", "", "reason `text`, one line")
	c.MarkFlagRequired("status")
	completed(c, "status", workspace.Completed, workspace.Failed, workspace.Cancelled)
	c.RunE = func(c *cobra.Command, args []string) error {
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			done, err := w.CloseSession(c.Context(), id, status, reason)
			if err == nil {
				a.KeepThreads(c.Context(), w, done.ID)
			}
			return done, err
		})
	}
	return c
}
