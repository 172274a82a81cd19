package program

import (
	"os"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/demo"
	"github.com/spf13/cobra"
)

func demoCommand(a *cli.App) *cobra.Command {
	var role, log string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a demonstration with four agents in a new directory",
		Long: `Demo starts four processes in a new directory inside the current one: an
architect, a builder, a reviewer and a lead. They fix a small program, whose
tests are run with sh. No agent knows where the others' files are: each waits
for the artifacts that it needs, reads them, and publishes its result. A patch
is replaced after its tests fail, and the lead merges two competing revisions of
the design.

Each line after a $ is a command that was run.

With --log, each agent works in a directory of its own, as on a machine of its
own, and they share nothing but that log, which must be reachable: a log on
another machine, such as git:REMOTE or git:/path. Their artifacts stay in it.`,
		Example: "  handoff demo\n  handoff demo --log git:origin",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().StringVar(&log, "log", "", "`address` of a log that the agents share, as in HANDOFF_LOG")
	c.Flags().StringVar(&role, "role", "", "")
	c.Flags().MarkHidden("role")
	c.RunE = func(c *cobra.Command, args []string) error {
		stage := demo.Stage{Dir: a.Dir, Log: log, Program: a.Self, Name: cli.Name(), Out: a.Out, Flush: a.Flush,
			Environ: os.Environ(), Now: a.Now, Rand: a.Rand}
		if role != "" {
			return stage.Play(c.Context(), role)
		}
		return stage.Run(c.Context())
	}
	return c
}
