package main

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/filelog"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func gcCommand(a *cli.App) *cobra.Command {
	var collect bool
	c := &cobra.Command{
		Use:     "gc",
		Short:   "Tell which kept bodies no artifact needs, and collect them",
		GroupID: cli.Setup,
		Long: `Gc lists the kept bodies that no artifact needs: those whose artifacts were all
withdrawn, and those of publishes that died. An artifact that was replaced was
not withdrawn, and can still be read. Bodies of the last hour stay in any case.

Nothing is removed without --collect, and nothing but such bodies with it. If
any record is missing or can't be read, gc refuses: it may need any body.`,
		Example: "  handoff gc\n  handoff gc --collect",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&collect, "collect", false, "collect what is listed")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			now := a.Now()
			bodies, err := w.Bodies.Unneeded(c.Context(), now)
			if err == nil && collect {
				bodies, err = w.Bodies.Collect(c.Context(), bodies, now)
			}
			if err != nil {
				return err
			}
			return garbage{bodies, 0, collect}.print(a)
		})
	}
	return c
}

// garbage are the bodies that no artifact needs, or that none needed before
// they were collected.
type garbage struct {
	Bodies    []filelog.KeptBody `json:"bodies"`
	SizeBytes int64              `json:"sizeBytes"`
	Collected bool               `json:"collected"`
}

func (g garbage) print(a *cli.App) error {
	rows := make([][]string, len(g.Bodies))
	for i, b := range g.Bodies {
		g.SizeBytes += b.SizeBytes
		rows[i] = []string{handoff.SHA256 + ":" + b.Digest.Value, cli.Size(b.SizeBytes), string(b.Need)}
	}
	if a.AsJSON {
		g.Bodies = append([]filelog.KeptBody{}, g.Bodies...)
		return a.JSON(g)
	}
	a.Table([]string{"body", "size", "why"}, rows)
	switch {
	case g.Collected:
		fmt.Fprintf(a.Err, "collected %d bodies, %s\n", len(rows), cli.Size(g.SizeBytes))
	case len(rows) > 0:
		fmt.Fprintf(a.Err, "%d bodies, %s, that no artifact needs\n", len(rows), cli.Size(g.SizeBytes))
	}
	return nil
}
