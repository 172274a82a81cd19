package main

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *cli.App) *cobra.Command {
	var why string
	var who cli.Identity
	c := &cobra.Command{
		Use:     "withdraw REF",
		Short:   "Say that an artifact no longer stands; nothing is deleted",
		GroupID: cli.Publish,
		Long: `Withdraw records that an artifact no longer stands. The artifact and its body
stay, list hides it, and what it had replaced stands again.`,
		Example:           "  handoff withdraw art_01K… --reason 'made against the wrong branch'",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: a.CompleteRef,
	}
	c.Flags().StringVar(&why, "reason", "", "one `line` that says why")
	a.JSONFlag(c, "print the artifact as JSON")
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			producer, err := who.Resolve(a)
			if err != nil {
				return err
			}
			id, err := a.Here(c.Context(), w, args[0])
			if err != nil {
				return err
			}
			p, err := w.As(producer).Withdraw(c.Context(), id, why)
			if err != nil {
				return err
			}
			a.RenderSession(c.Context(), w, p.Producer.Session)
			for _, warning := range p.Warnings {
				a.Warn("%s", warning)
			}
			if p.Existing {
				fmt.Fprintln(a.Err, "it was withdrawn before")
			}
			if a.AsJSON {
				return a.JSON(p)
			}
			fmt.Fprintln(a.Out, p.ID)
			return nil
		})
	}
	return c
}
