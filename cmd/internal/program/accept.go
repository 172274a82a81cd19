package program

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/spf13/cobra"
)

const acceptHelp = `Accept records that an artifact was chosen over those that handoff compare REF
shows beside it, or over those that --over names. It supersedes them, with the
reason "not chosen": list hides them, and CHANNEL:latest is not one of them.
Their revisions and comments stay their own.

To change the decision, accept another one. To bring the others back, withdraw
the artifact. If two acceptances did not know each other, for example on two
machines, both artifacts are active and compete.`

func acceptCommand(a *cli.App) *cobra.Command {
	var choice candidates.Choice
	var who cli.Identity
	c := &cobra.Command{
		Use:   "accept REF",
		Short: "Choose an artifact over those that compete with it",
		Long:  acceptHelp,
		Example: "  handoff accept patch:latest -m 'smaller, and tested'\n" +
			"  handoff accept art_01K… --over art_01M… --over art_01N…",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.Flags().StringVarP(&choice.Reason, "message", "m", "", "reason `text`, one line")
	c.Flags().StringArrayVar(&choice.Over, "over", nil, "choose it over this artifact, a `ref`; may be repeated")
	a.AllowSecretFlag(c)
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Published{}))
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			if a.Typed && w.Caller().Producer.Source == handoff.FromNone {
				choice.User = userdir.Name(a.Getenv)
			}
			done, err := w.Reviews().Candidates(nil).Accept(c.Context(), args[0], choice)
			if err != nil {
				return err
			}
			if c := done.Acceptance; c != nil && !done.Existing {
				for _, id := range c.Over {
					fmt.Fprintln(a.Err, handoff.NotChosen+":", id)
				}
			}
			return printChange(a, done, "it is accepted already")
		})
	}
	return c
}
