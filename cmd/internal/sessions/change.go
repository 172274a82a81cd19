package sessions

import (
	"context"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// changing completes a command that changes a session, by default the caller's. Without
// --json it prints warnings only.
func changing(a *cli.App, c *cobra.Command,
	do func(ctx context.Context, w *workspace.Workspace, id string, args []string) (sessions.Change,
		error)) *cobra.Command {
	var id string
	sessionFlag(a, c, &id)
	a.JSONFlag(c, "print JSON", cli.Prints(sessions.Change{}))
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

func setCommand(a *cli.App) *cobra.Command {
	var n sessions.Note
	var name, summary string
	var messages int
	var meta []string
	c := &cobra.Command{
		Use:   "set",
		Short: "Change a session's name, tags, summary, metadata or links",
		Long: `Set updates a session and renders its manifest. What is not given keeps its
value. --name '' restores the computed name. --link records that the session
builds on another one: an ID, a prefix of one, a folder, or an artifact, for
example the path that latest-output printed, for the session that published it.`,
		Example: "  handoff session set --name 'Laptops for the new office' --tag q4\n" +
			"  handoff session set --user-summary 'Purchase 10 laptops' --meta ticket=IT-17\n" +
			"  handoff session set --link a3f2c9d1",
		Args: cli.Exactly(0, ""),
	}
	a.AllowSecretFlag(c)
	f := c.Flags()
	f.StringVar(&name, "name", "", "`name` of the session")
	f.StringArrayVar(&n.Tags, "tag", nil, "add a `tag`; may be repeated")
	f.StringArrayVar(&n.Untag, "untag", nil, "remove a `tag`; may be repeated")
	f.StringVar(&summary, "user-summary", "", "`text` of the user's first message")
	f.IntVar(&messages, "message-count", 0, "`number` of messages")
	f.StringArrayVar(&meta, "meta", nil, "metadata, as `key=value`; may be repeated")
	f.StringArrayVar(&n.Links, "link", nil, "session or artifact `ref` that it builds on; may be repeated")
	c.RegisterFlagCompletionFunc("link", complete.Sessions(a))
	c.MarkFlagsOneRequired("name", "tag", "untag", "user-summary", "message-count", "meta", "link")
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		_ []string) (sessions.Change, error) {
		if f.Changed("name") {
			n.Name = &name
		}
		if f.Changed("user-summary") {
			n.UserSummary = &summary
		}
		if f.Changed("message-count") {
			n.MessageCount = &messages
		}
		var err error
		if n.Metadata, err = values("--meta", meta); err != nil {
			return sessions.Change{}, err
		}
		return w.Sessions().Set(ctx, id, n)
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
	completed(c, "status", session.Completed, session.Failed, session.Cancelled)
	return changing(a, c, func(ctx context.Context, w *workspace.Workspace, id string,
		_ []string) (sessions.Change, error) {
		done, err := w.Sessions().Close(ctx, id, status, reason)
		if err == nil {
			report.KeepThreads(a, ctx, w, done.ID)
		}
		return done, err
	})
}
