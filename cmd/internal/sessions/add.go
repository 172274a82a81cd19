package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/report"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func addCommand(a *cli.App) *cobra.Command {
	var id string
	var o sessions.Output
	var who cli.Identity
	c := &cobra.Command{
		Use:   "add FILE --type document|data|report|artifact",
		Short: "Publish a file of the session's folder as an output with a type",
		Long: `Add is handoff publish for a file in the session's folder, with a type: the file
is an artifact, and the manifest lists it among the outputs. FILE is relative to
the current directory if that is in the folder, otherwise to the folder of the
run, then of the session.

A file that was added before and has not changed is not added again. A file that
another agent added and that has changed since is refused, unless --replaces
names its artifact.`,
		Example: "  handoff session add requirements.md --type document",
		Args:    cli.Exactly(1, "one file"),
	}
	sessionFlag(a, c, &id)
	f := c.Flags()
	f.StringVar(&o.Type, "type", "", "output `type`: document, data, report or artifact")
	f.StringVar(&o.Description, "description", "", "description `text`, one line")
	f.StringVar(&o.Title, "title", "", "title `text`, one line")
	f.StringVar(&o.Channel, "channel", "", "`channel` (purpose; default: handoff)")
	f.StringVar(&o.Key, "key", "", "`key` under which it is published only once")
	f.StringArrayVar(&o.Tags, "tag", nil, "`tag` to find it by; may be repeated")
	f.StringArrayVar(&o.From, "from", nil, "`ref` of an artifact it was made from; may be repeated")
	f.StringArrayVar(&o.Replaces, "replaces", nil, "`ref` of an artifact it replaces; may be repeated")
	f.StringVar(&who.Producer.Agent, "agent", "", "agent `name` (default: the session's agent)")
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Published{}))
	a.AllowSecretFlag(c)
	c.MarkFlagRequired("type")
	completed(c, "type", sessions.OutputTypes()...)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.File = args[0]
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			done, err := w.Sessions().AddOutput(c.Context(), id, o)
			if err != nil {
				return err
			}
			report.Warnings(a, done)
			if done.Existing {
				fmt.Fprintln(a.Err, "unchanged; nothing was added")
			} else {
				report.Publish(a, done.Artifact)
			}
			return a.Published(done, done.ID)
		})
	}
	return c
}
