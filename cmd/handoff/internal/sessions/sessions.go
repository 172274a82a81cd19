// Package sessions has the commands that run, open, change, close and find
// sessions, and the one that explains their paths.
package sessions

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{
	cli.NewPrimary(runCommand, "run"),
	cli.NewPrimary(sessionCommand, "session"),
	cli.NewCommand(configCommand, "config"),
}

// subcommands are those of handoff session, one file each.
var subcommands = []func(*cli.App) *cobra.Command{
	openCommand, addCommand, noteCommand, closeCommand,
	findCommand, latestCommand, tagCommand, renameCommand,
	linkCommand, graphCommand, adoptCommand,
}

func sessionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "session",
		Short:   "Manage sessions",
		GroupID: cli.Sessions,
		Long: `A session is one execution of an agent's workflow. It has an id, a folder for
the agent's files, and a manifest in that folder, rendered from the log.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session add requirements.md --type document\n  handoff session close --status completed",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return cli.UnknownCommand(c, args[0])
	}
	for _, command := range subcommands {
		c.AddCommand(command(a))
	}
	return c
}

// sessionFlag selects the session of a command.
type sessionFlag struct{ id string }

func (f *sessionFlag) add(a *cli.App, c *cobra.Command) {
	c.Flags().StringVar(&f.id, "session", "", "session `id` (default: HANDOFF_SESSION)")
	c.RegisterFlagCompletionFunc("session", a.CompleteSessions)
}

func (f *sessionFlag) resolve(a *cli.App) (string, error) {
	if f.id != "" {
		return f.id, nil
	}
	if id := a.Getenv("HANDOFF_SESSION"); id != "" {
		return id, nil
	}
	return "", cli.Invalid("session", "", "no session given", "pass --session ID or set HANDOFF_SESSION")
}

// onSession changes one session. do returns warnings.
func onSession(a *cli.App, c *cobra.Command, f *sessionFlag, do func(ss *session.Sessions, id string) ([]string, error)) error {
	id, err := f.resolve(a)
	if err != nil {
		return err
	}
	return a.WritingTidy(func(w *workspace.Workspace) error {
		producer, err := new(cli.Identity).Resolve(a)
		if err != nil {
			return err
		}
		warnings, err := do(w.SessionsAs(producer), id)
		for _, text := range warnings {
			a.Warn("%s", text)
		}
		return err
	})
}
