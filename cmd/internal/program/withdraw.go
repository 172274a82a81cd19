package program

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *cli.App) *cobra.Command {
	var reason string
	var who cli.Identity
	c := &cobra.Command{
		Use:     "withdraw REF",
		Short:   "Mark an artifact as withdrawn (nothing is deleted)",
		GroupID: cli.Publish,
		Long: `Withdraw marks an artifact as withdrawn. Its record and its content stay, list
hides it, and the artifact that it replaced is active again.`,
		Example:           "  handoff withdraw art_01K… --reason 'made against the wrong branch'",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: a.CompleteRef,
	}
	c.Flags().StringVar(&reason, "reason", "", "reason `text`, one line")
	a.JSONFlag(c, "print the artifact as JSON")
	a.AllowSecretFlag(c)
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			done, err := w.Withdraw(c.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return printChange(a, done, "it was already withdrawn")
		})
	}
	return c
}
