package program

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *cli.App) *cobra.Command {
	var o workspace.RedactOptions
	var who cli.Identity
	c := &cobra.Command{
		Use:   "withdraw REF|COMMENT",
		Short: "Mark an artifact as withdrawn, or remove a secret from it",
		Long: `Withdraw marks an artifact as withdrawn. Its record and its content stay, list
hides it, and the artifact that it replaced is active again. A comment, cmt_…,
is hidden: its text is not shown any more.

--redact also replaces what looks like a secret in the content, the title, the
summary, the tags, the metadata, the claims and the arguments of an attested
command. --erase removes the kept copy of the content. The content is that of
every artifact with the same bytes. Each command, page and export then shows
the replacement. The records of the log never change: handoff log copy --redact
writes a new log. The command prints where copies can remain. A secret that was
recorded should itself be replaced.`,
		Example: "  handoff withdraw art_01K… --reason 'made against the wrong branch'\n  handoff withdraw " +
			"art_01K… --redact",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	f := c.Flags()
	f.StringVar(&o.Reason, "reason", "", "reason `text`, one line")
	f.BoolVar(&o.Erase, "erase", false, "remove the kept copy of the content")
	f.BoolVar(&o.Replace, "redact", false, "replace what looks like a secret in the record and the content")
	a.JSONFlag(c, "print the artifact as JSON",
		cli.Prints(handoff.Published{}),
		cli.PrintsWith("redact", workspace.Redacted{}), cli.PrintsWith("erase", workspace.Redacted{}))
	a.AllowSecretFlag(c)
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			if o.Erase || o.Replace {
				done, err := w.Redact(c.Context(), args[0], o)
				if err != nil {
					return err
				}
				return printRedacted(a, done)
			}
			done, err := w.Withdraw(c.Context(), args[0], o.Reason)
			if err != nil {
				return err
			}
			return printChange(a, done, "it was already withdrawn")
		})
	}
	return c
}

func printRedacted(a *cli.App, done workspace.Redacted) error {
	a.Warnings(done.Warnings)
	if done.Existing {
		fmt.Fprintln(a.Err, "it was already redacted")
	}
	fmt.Fprintf(a.Err, "%s replaced; copies can remain in:\n", textfmt.Count(done.Replaced, "secret"))
	for _, text := range done.Copies {
		fmt.Fprintf(a.Err, "  %s\n", textfmt.OneLine(text))
	}
	fmt.Fprintln(a.Err, "replace the secret itself, because others may have read it\nto write a log without it, run: "+
		"handoff log copy --redact FROM TO")
	if a.AsJSON {
		return a.JSON(done)
	}
	_, err := fmt.Fprintln(a.Out, done.ID)
	return err
}
