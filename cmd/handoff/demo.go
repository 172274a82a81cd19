package main

import (
	"os"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/demo"
	"github.com/spf13/cobra"
)

func demoCommand(a *cli.App) *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Watch four agents hand real files on, in a fresh directory",
		GroupID: cli.Setup,
		Long: `Demo starts four processes, an architect, a builder, a reviewer and a lead, in
a fresh directory below the current one. They mend a small Go program. None is
told where the others' files are: each waits for what it needs, reads only that,
and publishes what it made. A patch is replaced after its tests failed, and two
revisions of the design, made at the same time, are settled by the lead.

Every line after a $ is a command that was really run.`,
		Example: "  handoff demo",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().StringVar(&role, "role", "", "")
	c.Flags().MarkHidden("role")
	c.RunE = func(c *cobra.Command, args []string) error {
		stage := demo.Stage{Dir: a.Dir, Program: a.Self, Out: a.Out, Flush: a.Flush, Environ: os.Environ(), Now: a.Now, Rand: a.Rand}
		if role != "" {
			return stage.Play(c.Context(), role)
		}
		return stage.Run(c.Context())
	}
	return c
}
