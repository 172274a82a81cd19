package program

import (
	"fmt"
	"strconv"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"
	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	sessioncmd "github.com/agent-handoff/handoff/cmd/internal/sessions"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func gcCommand(a *cli.App) *cobra.Command {
	var collect, archive, emptyTrash bool
	c := &cobra.Command{
		Use:     "gc",
		Aliases: []string{"du"},
		Short:   "List what can be collected or archived, and do it with a flag",
		Long: `Gc lists the kept bodies that no artifact needs: bodies whose artifacts were
all withdrawn, and bodies of publishes that were killed. A superseded artifact
still needs its body. Bodies that were stored in the last hour are never listed.

Gc also lists the sessions that ended longer ago than archive_after of
.handoff/config.yaml, such as archive_after: 30d; handoff session archive
--older-than 30d archives them. It lists the sessions in the trash, too;
--empty-trash removes their files, for good, but not those that an active
artifact needs.

Nothing is deleted without --collect or --empty-trash. If a record is missing or
can't be read, gc refuses, because that record may need any body or file.`,
		Example: "  handoff gc\n  handoff gc --collect",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&collect, "collect", false, "delete the listed bodies")
	c.Flags().BoolVar(&archive, "archive", false, "archive the listed sessions")
	c.Flags().MarkHidden("archive") // session archive --older-than
	c.Flags().BoolVar(&emptyTrash, "empty-trash", false, "remove the files of the sessions in the trash")
	c.MarkFlagsMutuallyExclusive("collect", "archive", "empty-trash")
	a.JSONFlag(c, "print JSON",
		cli.Prints(store.Garbage{}),
		cli.PrintsWith("empty-trash", session.EmptiedTrash{}), cli.PrintsWith("archive", sessions.Moves{}))
	table := a.NewTable(c, bodyColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		if archive {
			return sessioncmd.Move(a, func(w *workspace.Workspace) (sessions.Moves, error) {
				return w.Sessions().ArchiveDue(c.Context(), "")
			})
		}
		if emptyTrash {
			return sessioncmd.EmptyTrash(c.Context(), a)
		}
		return a.Reading(func(w *workspace.Workspace) error {
			find := w.Store().Unneeded
			if collect {
				find = w.Store().Collect
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

var bodyColumns = []cli.Column{{Name: "body", Text: true}, {Name: "size", Rank: 2},
	{Name: "reason", Rank: 1, Text: true}}

func printGarbage(a *cli.App, g store.Garbage, table *cli.Table) error {
	if a.AsJSON {
		return a.JSONList("bodies", g)
	}
	rows := make([][]string, len(g.Bodies))
	for i, b := range g.Bodies {
		rows[i] = []string{handoff.SHA256 + ":" + b.Digest.Value, textfmt.Size(b.SizeBytes), string(b.Need)}
	}
	for _, s := range g.Archive {
		rows = append(rows, []string{"session " + s.ID, "", "to archive: " + s.Name})
	}
	for _, s := range g.Trash {
		rows = append(rows, []string{"session " + s.ID, textfmt.Size(s.SizeBytes), sessioncmd.TrashReason(s)})
	}
	if err := table.Print(bodyColumns, rows); err != nil {
		return err
	}
	bodies := "1 body"
	if len(g.Bodies) != 1 {
		bodies = strconv.Itoa(len(g.Bodies)) + " bodies"
	}
	if n := len(g.Archive); n > 0 {
		fmt.Fprintf(a.Err, "to archive: %s\n", textfmt.Count(n, "session"))
	}
	switch {
	case g.Collected:
		fmt.Fprintf(a.Err, "collected %s, %s\n", bodies, textfmt.Size(g.SizeBytes))
	case len(g.Bodies) > 0:
		fmt.Fprintf(a.Err, "unreferenced: %s, %s\n", bodies, textfmt.Size(g.SizeBytes))
	}
	return nil
}
