package main

import (
	"fmt"

	"github.com/agent-handoff/handoff/local"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *app) *cobra.Command {
	var why string
	var who identityFlags
	var asJSON bool
	c := &cobra.Command{
		Use:     "withdraw REF",
		Short:   "Say that an artifact no longer stands; nothing is deleted",
		GroupID: handOver,
		Long: `Withdraw records that an artifact no longer stands. The artifact and its body
stay, list hides it, and what it had replaced stands again.`,
		Example:           "  handoff withdraw art_01K… --reason 'made against the wrong branch'",
		Args:              exactly(1, "one ref"),
		ValidArgsFunction: a.completeRefs,
	}
	c.Flags().StringVar(&why, "reason", "", "one `line` that says why")
	c.Flags().BoolVar(&asJSON, "json", false, "print the artifact as JSON")
	who.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.writing(func(w *local.Workspace) error {
			producer, err := who.resolve(a)
			if err != nil {
				return err
			}
			id, err := a.here(c.Context(), w, args[0])
			if err != nil {
				return err
			}
			p, err := w.As(producer).Withdraw(c.Context(), id, why)
			if err != nil {
				return err
			}
			a.renderSession(c.Context(), w, p.Producer.Session)
			for _, warning := range p.Warnings {
				a.warn("%s", warning)
			}
			if p.Existing {
				fmt.Fprintln(a.err, "it was withdrawn before")
			}
			if asJSON {
				return a.json(p)
			}
			fmt.Fprintln(a.out, p.ID)
			return nil
		})
	}
	return c
}
