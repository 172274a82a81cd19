// Package sessions has the commands about sessions: what opens, fills, ends and
// finds them, and how their paths are made.
package sessions

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands that this room adds to the command line.
var Commands = []cli.Command{
	cli.NewPrimary(runCommand, "run"),
	cli.NewPrimary(sessionCommand, "session"),
	cli.NewCommand(configCommand, "config"),
}

// below are the commands below handoff session, a file each.
var below = []func(*cli.App) *cobra.Command{
	openCommand, addCommand, noteCommand, closeCommand,
	findCommand, latestCommand, tagCommand, renameCommand,
	linkCommand, graphCommand, adoptCommand,
}

func sessionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "session",
		Short:   "Sessions: a folder, a manifest, an end, and names to find them by",
		GroupID: cli.Sessions,
		Long: `A session is one execution of an agent's workflow. It has an id, a folder for
what the agent writes, and a manifest in it that is rendered from the log.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session add requirements.md --type document --description 'Initial requirements'\n  handoff session close --status completed",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return cli.UnknownCommand(c, args[0])
	}
	for _, command := range below {
		c.AddCommand(command(a))
	}
	return c
}

// sessionFlag says which session a command is about.
type sessionFlag struct{ id string }

func (f *sessionFlag) add(a *cli.App, c *cobra.Command) {
	c.Flags().StringVar(&f.id, "session", "", "the session's `id` (default: HANDOFF_SESSION)")
	c.RegisterFlagCompletionFunc("session", a.CompleteSessions)
}

func (f *sessionFlag) resolve(a *cli.App) (string, error) {
	if f.id != "" {
		return f.id, nil
	}
	if id := a.Getenv("HANDOFF_SESSION"); id != "" {
		return id, nil
	}
	return "", cli.Invalid("session", "", "no session is named", "pass --session ID, or set HANDOFF_SESSION; handoff session find lists them")
}

// onSession makes a command change one session: do returns its warnings.
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
