package sessions

import (
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/lineage"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func graphCommand(a *cli.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph [SESSION]",
		Short: "Show the links between sessions",
		Long: `Graph follows the links between sessions in both directions. A session that is
not recorded here is shown as unresolved. Cycles are reported on standard error,
and in JSON.`,
		Example:           "  handoff session graph $ID --format mermaid",
		Args:              cli.Between(0, 1, "at most one session"),
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().StringVar(&format, "format", "tree", "output `format`: tree, json, dot or mermaid")
	a.JSONFlag(c, "print JSON; the same as --format json", cli.Prints(lineage.Graph{}))
	c.MarkFlagsMutuallyExclusive("json", "format")
	completed(c, "format", "tree", "json", "dot", "mermaid")
	c.RunE = func(c *cobra.Command, args []string) error {
		if a.AsJSON {
			format = "json"
		}
		return a.Reading(func(w *workspace.Workspace) error {
			id, g, err := w.Sessions().Graph(c.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			for _, cycle := range g.Cycles {
				a.Warn("cycle: %s", strings.Join(cycle, " "))
			}
			return report.Graph(a, g, id, format)
		})
	}
	return c
}
