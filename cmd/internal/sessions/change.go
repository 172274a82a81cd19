package sessions

import (
	"context"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// changing completes a command that changes a session, by default the caller's. Without
// --json it prints warnings only.
func changing(a *cli.App, c *cobra.Command,
	do func(ctx context.Context, w *workspace.Workspace, id string, args []string) (workspace.SessionChange,
		error)) *cobra.Command {
	var id string
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			done, err := do(c.Context(), w, id, args)
			a.Warnings(done.Warnings)
			if err == nil && a.AsJSON {
				err = a.JSON(done)
			}
			return err
		})
	}
	return c
}

func noteCommand(a *cli.App) *cobra.Command {
	var summary string
	var messages int
	var meta []string
	c := &cobra.Command{
		Use:   "note",
		Short: "Update a session's summary and metadata",
		Long: `Note updates a session and renders its manifest. Fields that are not given keep
their values.`,
		Example: "  handoff session note --user-summary 'Purchase 10 laptops' --meta ticket=IT-17",
		Args:    cli.Exactly(0, ""),
	}
	a.AllowSecretFlag(c)
	c.Flags().StringVar(&summary, "user-summary", "", "`text` of the user's first message")
	c.Flags().IntVar(&messages, "message-count", 0, "`number` of messages")
	c.Flags().StringArrayVar(&meta, "meta", nil, "metadata, as `key=value`; may be repeated")
	c.MarkFlagsOneRequired("user-summary", "message-count", "meta")
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		_ []string) (workspace.SessionChange, error) {
		var n workspace.SessionNote
		if c.Flags().Changed("user-summary") {
			n.UserSummary = &summary
		}
		if c.Flags().Changed("message-count") {
			n.MessageCount = &messages
		}
		var err error
		if n.Metadata, err = values("--meta", meta); err != nil {
			return workspace.SessionChange{}, err
		}
		return w.NoteSession(ctx, id, n)
	})
}

func tagCommand(a *cli.App) *cobra.Command {
	var remove []string
	c := &cobra.Command{
		Use:     "tag TAG…",
		Short:   "Add or remove session tags",
		Example: "  handoff session tag security q4\n  handoff session tag --untag q4",
	}
	a.AllowSecretFlag(c)
	c.Flags().StringArrayVar(&remove, "untag", nil, "remove a `tag`; may be repeated")
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		args []string) (workspace.SessionChange, error) {
		if len(args)+len(remove) == 0 {
			return workspace.SessionChange{}, cli.Invalid("session tag", "", "no tag given",
				"name at least one tag, or pass --untag TAG")
		}
		return w.TagSession(ctx, id, args, remove)
	})
}

func renameCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "rename NAME",
		Short:   "Set the name of a session",
		Long:    "Rename sets the name of a session. '' restores the computed name.",
		Example: "  handoff session rename 'Laptops for the new office'",
		Args:    cli.Exactly(1, "one name"),
	}
	a.AllowSecretFlag(c)
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		args []string) (workspace.SessionChange, error) {
		return w.RenameSession(ctx, id, args[0])
	})
}

func linkCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "link SESSION|REF",
		Short: "Record that a session builds on another",
		Long: `Link records that a session builds on another one. SESSION is an ID, a prefix of
one, or a folder. REF is an artifact, for example the path that latest-output
printed, and means the session that published it.`,
		Example: "  handoff session link a3f2c9d1-4b5e-4789-81ab-cdef12345678\n" +
			"  handoff session link \"$(handoff session latest-output casey '^deep-dive-')\"",
		Args:              cli.Exactly(1, "one session or artifact"),
		ValidArgsFunction: a.CompleteSessions,
	}
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		args []string) (workspace.SessionChange, error) {
		return w.LinkSession(ctx, id, args[0])
	})
}

func closeCommand(a *cli.App) *cobra.Command {
	var status, reason string
	c := &cobra.Command{
		Use:   "close --status completed|failed|cancelled",
		Short: "Close a session",
		Long: `Close records that a session ended, and its status. The first close wins; later
ones are recorded and shown separately.`,
		Example: "  handoff session close --status completed",
		Args:    cli.Exactly(0, ""),
	}
	a.AllowSecretFlag(c)
	c.Flags().StringVar(&status, "status", "", "final `status`: completed, failed or cancelled")
	c.Flags().StringVar(&reason, "reason", "", "reason `text`, one line")
	c.MarkFlagRequired("status")
	completed(c, "status", workspace.Completed, workspace.Failed, workspace.Cancelled)
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		_ []string) (workspace.SessionChange, error) {
		done, err := w.CloseSession(ctx, id, status, reason)
		if err == nil {
			a.KeepThreads(ctx, w, done.ID)
		}
		return done, err
	})
}
