package main

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/filelog"
	"github.com/agent-handoff/handoff/local"
	"github.com/spf13/cobra"
)

func gcCommand(a *cli.App) *cobra.Command {
	var collect, asJSON bool
	c := &cobra.Command{
		Use:     "gc",
		Short:   "Tell which kept bodies no artifact needs, and collect them",
		GroupID: cli.Care,
		Long: `Gc lists the kept bodies that no artifact needs: those whose artifacts were all
withdrawn, and those of publishes that died. An artifact that was replaced was
not withdrawn, and can still be read. Bodies of the last hour stay in any case.

Nothing is removed without --collect, and nothing but such bodies with it. If
any record is missing or can't be read, gc refuses: it may need any body.`,
		Example: "  handoff gc\n  handoff gc --collect",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&collect, "collect", false, "collect what is listed")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *local.Workspace) error { return gc(c.Context(), a, w, collect, asJSON) })
	}
	return c
}

func gc(ctx context.Context, a *cli.App, w *local.Workspace, collect, asJSON bool) error {
	now := a.Now()
	bodies, err := w.Bodies.Unneeded(ctx, now)
	if err != nil {
		return err
	}
	if collect {
		if bodies, err = w.Bodies.Collect(ctx, bodies, now); err != nil {
			return err
		}
	}
	total := int64(0)
	for _, b := range bodies {
		total += b.SizeBytes
	}
	if asJSON {
		if bodies == nil {
			bodies = []filelog.KeptBody{}
		}
		return a.JSON(struct {
			Bodies    []filelog.KeptBody `json:"bodies"`
			SizeBytes int64              `json:"sizeBytes"`
			Collected bool               `json:"collected"`
		}{bodies, total, collect})
	}
	rows := make([][]string, len(bodies))
	for i, b := range bodies {
		rows[i] = []string{handoff.SHA256 + ":" + b.Digest.Value, cli.Size(b.SizeBytes), string(b.Need)}
	}
	a.Table([]string{"body", "size", "why"}, rows)
	switch {
	case collect:
		fmt.Fprintf(a.Err, "collected %d bodies, %s\n", len(bodies), cli.Size(total))
	case len(bodies) > 0:
		fmt.Fprintf(a.Err, "%d bodies, %s, that no artifact needs\n", len(bodies), cli.Size(total))
	}
	return nil
}
