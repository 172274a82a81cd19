package sessions

import (
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/lineage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func graphCommand(a *cli.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph [SESSION]",
		Short: "Draw what a session builds on, and what builds on it",
		Long: `Graph follows the links between sessions in both directions. A session that is
not recorded here is shown as unresolved; sessions that build on each other are
told on standard error, and in JSON as cycles.`,
		Example:           "  handoff session graph $ID --format mermaid",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteSessions,
	}
	c.Flags().StringVar(&format, "format", "tree", "how to draw it: `tree`, json, dot or mermaid")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"tree", "json", "dot", "mermaid"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := (&sessionFlag{id: strings.Join(args, "")}).resolve(a)
		if err != nil {
			return err
		}
		return a.Reading(func(w *workspace.Workspace) error {
			g, err := lineage.OfSession(c.Context(), w, id)
			if err != nil {
				return err
			}
			for _, cycle := range g.Cycles {
				a.Warn("these build on each other: %s", strings.Join(cycle, " "))
			}
			return a.Draw(g, id, format)
		})
	}
	return c
}
