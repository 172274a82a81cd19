package sessions

import (
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// maxSessions is the number of sessions that one command line can name.
const maxSessions = 1 << 20

func archiveCommand(a *cli.App) *cobra.Command {
	var force, undo bool
	var age string
	c := &cobra.Command{
		Use:   "archive [SESSION…]",
		Short: "Archive sessions, or take them back",
		Long: `Archive records that sessions are archived. Lists omit them, and the manifest of
each has the time, as archivedAt. Folders stay where they are, and every ref to
a session and to its artifacts still resolves. A session that is running or
stalled is refused without --force. --undo takes archived sessions back.

--older-than archives the sessions that ended longer ago; handoff gc lists those
that archive_after of the settings selects.`,
		Example: "  handoff session archive intake-app#1\n  handoff session archive --undo intake-app#1\n" +
			"  handoff session archive --older-than 30d\n  handoff session find --archived",
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().BoolVar(&force, "force", false, "archive a session that is running or stalled, too")
	c.Flags().BoolVar(&undo, "undo", false, "take archived sessions back")
	c.Flags().StringVar(&age, "older-than", "", "archive what ended longer ago than a `duration`: 30d, 12h or 90m")
	c.MarkFlagsMutuallyExclusive("undo", "force", "older-than")
	a.JSONFlag(c, "print JSON", cli.Prints(sessions.Changes{}), cli.Prints(stopped{}))
	c.Args = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("older-than") {
			return someSessions(c, args)
		}
		return cli.Exactly(0, "no session with --older-than")(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return change(a, func(w *workspace.Workspace) (sessions.Changes, error) {
			switch {
			case undo:
				return w.Sessions().Restore(c.Context(), args)
			case c.Flags().Changed("older-than"):
				return w.Sessions().ArchiveDue(c.Context(), age)
			}
			return w.Sessions().Archive(c.Context(), args, force)
		})
	}
	return c
}

var someSessions = cli.Between(1, maxSessions, "at least one session")

// stopped is the answer of a command that changed some sessions before an error.
type stopped struct {
	sessions.Changes
	Error cli.Failure `json:"error"`
}

// change changes sessions and prints their IDs.
func change(a *cli.App, do func(w *workspace.Workspace) (sessions.Changes, error)) error {
	return a.Writing(func(w *workspace.Workspace) error {
		done, err := do(w)
		for _, m := range done.Sessions {
			a.Warnings(m.Warnings)
		}
		a.Warnings(done.Warnings)
		switch {
		case a.AsJSON && err == nil:
			return a.JSON(done)
		case a.AsJSON && len(done.Sessions) > 0: // they were changed all the same
			return errors.Join(a.JSON(stopped{done, cli.NewFailure(err)}), err)
		case a.AsJSON:
			return err
		}
		for _, m := range done.Sessions {
			fmt.Fprintln(a.Out, textfmt.OneLine(m.ID))
		}
		return err
	})
}
