package program

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func labelCommand(a *cli.App) *cobra.Command {
	var remove bool
	var who cli.Identity
	c := &cobra.Command{
		Use:   "label REF NAME",
		Short: "Move a label to an artifact: CHANNEL:NAME then names it",
		Long: `Label moves a label to an artifact. At most one artifact of a channel has it,
and CHANNEL:NAME is a ref of that artifact wherever a ref is expected. Earlier
changes are kept: handoff show lists those of an artifact.

NAME is a word such as chosen, or several joined by dashes. The names latest,
approved, v1, v2 and so on are reserved.`,
		Example: "  handoff label art_01K… chosen\n  handoff read design:chosen\n  handoff label " +
			"design:chosen chosen --remove",
		Args:              cli.Exactly(2, "one ref and one label"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the label from the artifact")
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Published{}))
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			change := w.Label
			if remove {
				change = w.Unlabel
			}
			done, err := change(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return printChange(a, done, "it already has the label")
		})
	}
	return c
}

// printChange prints the artifact that a command changed. unchanged is printed if
// nothing was recorded.
func printChange(a *cli.App, done handoff.Published, unchanged string) error {
	a.Warnings(done.Warnings)
	if done.Existing {
		fmt.Fprintln(a.Err, unchanged)
	}
	if a.AsJSON {
		return a.JSON(done)
	}
	_, err := fmt.Fprintln(a.Out, done.ID)
	return err
}
