// Package sessions has the commands for sessions, for comparing them and artifacts, for running a command in a
// session, and for the variables in their paths.
package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{
	cli.NewCommand(candidatesCommand, "compare"),
	cli.NewCommand(diffCommand, "diff"),
	cli.NewCommand(runCommand, "run"),
	cli.NewCommand(attestCommand, "attest"),
	cli.NewCommand(sessionCommand, "session"),
	cli.NewCommand(configCommand, "config"),
	cli.NewCommand(importCommand, "import"),
}

// subcommands are the subcommands of handoff session.
var subcommands = []func(*cli.App) *cobra.Command{
	openCommand, addCommand, setCommand, closeCommand, findCommand, archiveCommand, deleteCommand,
	latestCommand, graphCommand,
}

func sessionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "session COMMAND",
		Short: "Manage sessions",
		Long: `A session is one execution of an agent's workflow. It has an ID, a folder for
the agent's files, and a manifest in that folder, rendered from the log.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session add " +
			"requirements.md --type document\n  handoff session close --status completed",
		Args: cobra.ArbitraryArgs,
		RunE: cli.Group,
	}
	for _, command := range subcommands {
		c.AddCommand(command(a))
	}
	return c
}

// sessionFlag gives a command --session, which selects a session. The default is
// the caller's session.
func sessionFlag(a *cli.App, c *cobra.Command, id *string) {
	c.Flags().StringVar(id, "session", "", "session `ID` (default: HANDOFF_SESSION)")
	c.RegisterFlagCompletionFunc("session", complete.Sessions(a))
}

// values returns the pairs of a key=value flag.
func values(flag string, list []string) (map[string]any, error) {
	pairs, err := cli.Pairs(flag, list)
	m := map[string]any{}
	for key, value := range pairs {
		m[key] = value
	}
	return m, err
}

// completed completes a flag with fixed values.
func completed(c *cobra.Command, flag string, values ...string) {
	c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// printExports prints variables as export lines for a shell.
func printExports(a *cli.App, env map[string]string) {
	for _, name := range textfmt.SortedKeys(env) {
		fmt.Fprintf(a.Out, "export %s=%s\n", name, textfmt.ShellWord(env[name]))
	}
}
