package sessions

import (
	"time"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/spf13/cobra"
)

func closeCommand(a *cli.App) *cobra.Command {
	var f sessionFlag
	var status, why string
	c := &cobra.Command{
		Use:   "close --status completed|failed|cancelled",
		Short: "Close a session",
		Long: `Close records that a session ended, and its status. The first close wins; later
ones are recorded and shown separately.`,
		Example: "  handoff session close --status completed",
		Args:    cli.Exactly(0, ""),
	}
	f.add(a, c)
	c.Flags().StringVar(&status, "status", "", "final `status`: completed, failed or cancelled")
	c.Flags().StringVar(&why, "reason", "", "`text` that explains the status, on one line")
	c.MarkFlagRequired("status")
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{session.Completed, session.Failed, session.Cancelled}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		return onSession(a, c, &f, func(ss *session.Sessions, id string) ([]string, error) {
			return ss.Close(c.Context(), id, status, why, time.Time{})
		})
	}
	return c
}
