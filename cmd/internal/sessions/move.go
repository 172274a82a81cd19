package sessions

import (
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// maxSessions is the number of sessions that one command line can name.
const maxSessions = 1 << 20

func archiveCommand(a *cli.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "archive SESSION…",
		Short: "Move the folders of sessions to the archive",
		Long: `Archive moves the folder of each session to archive/YYYY-MM, beside the folder
that it was opened in, by the month in which it started. Lists omit the session;
every ref to it and to its artifacts still resolves. A session that is running
or stalled is refused without --force.

handoff gc --archive archives what archive_after of the configuration selects.`,
		Example:           "  handoff session archive intake-app#1\n  handoff session find --archived",
		Args:              cli.Between(1, maxSessions, "at least one session"),
		ValidArgsFunction: a.CompleteSessions,
	}
	c.Flags().BoolVar(&force, "force", false, "archive a session that is running or stalled, too")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return Move(a, func(w *workspace.Workspace) (workspace.SessionMoves, error) {
			return w.ArchiveSessions(c.Context(), args, force)
		})
	}
	return c
}

func unarchiveCommand(a *cli.App) *cobra.Command {
	return movingBack(a, &cobra.Command{
		Use:     "unarchive SESSION…",
		Short:   "Move archived sessions back",
		Long:    "Unarchive moves the folder of each session back to where it was opened.",
		Example: "  handoff session unarchive intake-app#1",
	})
}

func restoreCommand(a *cli.App) *cobra.Command {
	return movingBack(a, &cobra.Command{
		Use:   "restore SESSION…",
		Short: "Restore sessions from the trash",
		Long: `Restore moves the folder of each session back to where it was opened, from the
trash or, like unarchive, from the archive.`,
		Example: "  handoff session restore intake-app#1",
	})
}

// movingBack completes a command that moves folders back to where they were opened.
func movingBack(a *cli.App, c *cobra.Command) *cobra.Command {
	c.Args = cli.Between(1, maxSessions, "at least one session")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return Move(a, func(w *workspace.Workspace) (workspace.SessionMoves, error) {
			return w.RestoreSessions(c.Context(), args)
		})
	}
	return c
}

// stopped is the answer of a command that moved some sessions before an error.
type stopped struct {
	workspace.SessionMoves
	Error cli.Failure `json:"error"`
}

// Move moves sessions and prints where the folder of each is.
func Move(a *cli.App, do func(w *workspace.Workspace) (workspace.SessionMoves, error)) error {
	return a.Writing(func(w *workspace.Workspace) error {
		done, err := do(w)
		for _, m := range done.Sessions {
			a.Warnings(m.Warnings)
		}
		a.Warnings(done.Warnings)
		switch {
		case a.AsJSON && err == nil:
			return a.JSON(done)
		case a.AsJSON && len(done.Sessions) > 0: // they were moved all the same
			return errors.Join(a.JSON(stopped{done, cli.NewFailure(err)}), err)
		case a.AsJSON:
			return err
		}
		for _, m := range done.Sessions {
			fmt.Fprintf(a.Out, "%s\t%s\n", cli.OneLine(m.ID), cli.OneLine(m.To))
		}
		return err
	})
}
