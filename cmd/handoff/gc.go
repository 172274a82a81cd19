package main

import (
	"fmt"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func gcCommand(a *cli.App) *cobra.Command {
	var collect bool
	c := &cobra.Command{
		Use:     "gc",
		Short:   "List unreferenced bodies, or delete them with --collect",
		GroupID: cli.Setup,
		Long: `gc lists the kept bodies that no artifact needs: bodies whose artifacts were
all withdrawn, and bodies of publishes that were killed. A superseded artifact
still needs its body. Bodies that were stored in the last hour are never listed.

Nothing is deleted without --collect. If a record is missing or can't be read,
gc refuses, because that record may need any body.`,
		Example: "  handoff gc\n  handoff gc --collect",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&collect, "collect", false, "delete the listed bodies")
	a.JSONFlag(c, "print JSON")
	table := a.NewTable(c, bodyColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			find := w.Unneeded
			if collect {
				find = w.Collect
			}
			found, err := find(c.Context())
			if err != nil {
				return err
			}
			return printGarbage(a, found, table)
		})
	}
	return c
}

var bodyColumns = []cli.Column{{Name: "body", Text: true}, {Name: "size", Rank: 2}, {Name: "reason", Rank: 1, Text: true}}

func printGarbage(a *cli.App, g workspace.Garbage, table *cli.Table) error {
	if a.AsJSON {
		return a.JSONList("bodies", g)
	}
	rows := make([][]string, len(g.Bodies))
	for i, b := range g.Bodies {
		rows[i] = []string{handoff.SHA256 + ":" + b.Digest.Value, cli.Size(b.SizeBytes), string(b.Need)}
	}
	if err := table.Print(bodyColumns, rows); err != nil {
		return err
	}
	bodies := "1 body"
	if len(rows) != 1 {
		bodies = strconv.Itoa(len(rows)) + " bodies"
	}
	switch {
	case g.Collected:
		fmt.Fprintf(a.Err, "collected %s, %s\n", bodies, cli.Size(g.SizeBytes))
	case len(rows) > 0:
		fmt.Fprintf(a.Err, "unreferenced: %s, %s\n", bodies, cli.Size(g.SizeBytes))
	}
	return nil
}
