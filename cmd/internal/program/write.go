package program

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func writeCommand(a *cli.App) *cobra.Command {
	var content handoff.Draft
	var who cli.Identity
	c := &cobra.Command{
		Use:   "write NAME [FILE|-]",
		Short: "Save content under a name scoped to your run",
		Long: `Write stores a file, or standard input, under a name in your run (outside a run,
in your session) and prints its ref, run/name. Many agents can write context.md
at the same time without a conflict.

Writing a name again updates its file; earlier revisions stay readable with
handoff read --rev. An edit that was made to the file outside handoff is saved
as a revision first. Writing the same content again changes nothing.`,
		Example: "  handoff write context.md notes.md\n  git diff | handoff write plans/change.diff --title 'Change so far'",
		Args:    cli.Between(1, 2, "a name and at most one file"),
	}
	f := c.Flags()
	f.StringVar(&content.Channel, "channel", "handoff", "the `channel` to publish in (purpose)")
	f.StringVar(&content.Title, "title", "", "title `text`, one line")
	f.StringVar(&content.Summary, "summary", "", "summary `text`, one line")
	f.StringVar(&content.Kind, "kind", "", "`kind` of content (form): report, patch, or any other word")
	f.StringArrayVar(&content.Parents, "from", nil, "`ref` of an artifact that this one was made from; may be repeated")
	f.StringArrayVar(&content.Tags, "tag", nil, "`tag` to find it by; may be repeated")
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Published{}))
	a.AllowSecretFlag(c)
	who.Add(c)
	who.AddRun(c)
	c.RegisterFlagCompletionFunc("channel", complete.Channels(a))
	c.RunE = func(c *cobra.Command, args []string) error {
		content.Name, content.Body = args[0], a.In
		if len(args) == 2 && args[1] != "-" {
			content.Body, content.Path = nil, args[1]
		}
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			written, err := w.Write(c.Context(), content)
			if err != nil {
				return err
			}
			return printWritten(a, written)
		})
	}
	return c
}

func printWritten(a *cli.App, w workspace.Written) error {
	report.Revision(a, w.Published, w.File, w.SavedEdits)
	return a.Published(w.Published, w.Ref)
}
