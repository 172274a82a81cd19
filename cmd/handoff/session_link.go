package main

import (
	"github.com/agent-handoff/handoff/session"
	"github.com/spf13/cobra"
)

func sessionLinkCommand(a *app) *cobra.Command {
	var f sessionFlag
	c := &cobra.Command{
		Use:               "link SESSION",
		Short:             "Say that a session builds on another",
		Example:           "  handoff session link a3f2c9d1-4b5e-4789-81ab-cdef12345678",
		Args:              exactly(1, "one session"),
		ValidArgsFunction: a.completeSessions,
	}
	f.add(a, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.onSession(c, &f, func(b *session.Book, id string) ([]string, error) {
			return b.Link(c.Context(), id, args[0])
		})
	}
	return c
}
