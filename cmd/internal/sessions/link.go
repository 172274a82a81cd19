package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func linkCommand(a *cli.App) *cobra.Command {
	var id string
	c := &cobra.Command{
		Use:   "link SESSION|REF",
		Short: "Record that a session builds on another",
		Long: `Link records that a session builds on another one. SESSION is an ID, a prefix of
one, or a folder. REF is an artifact, for example the path that latest-output
printed, and means the session that published it.`,
		Example: "  handoff session link a3f2c9d1-4b5e-4789-81ab-cdef12345678\n" +
			"  handoff session link \"$(handoff session latest-output casey '^deep-dive-')\"",
		Args:              cli.Exactly(1, "one session or artifact"),
		ValidArgsFunction: a.CompleteSessions,
	}
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return change(a, func(w *workspace.Workspace) (workspace.SessionChange, error) {
			return w.LinkSession(c.Context(), id, args[0])
		})
	}
	return c
}
