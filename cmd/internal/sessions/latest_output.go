package sessions

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func latestCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "latest-output AGENT WORKFLOW-REGEXP [TYPE]",
		Short: "Print the path of an agent's newest completed output",
		Long: `Latest-output prints the absolute path of the newest output of a type, by
default of any. It is taken from the newest completed session or run of the
agent whose workflow name matches and which has one. The exit code is
3 if there is none; the error names the outputs that there are.`,
		Example: "  handoff session latest-output casey '^deep-dive-' document",
		Args:    cli.Between(2, 3, "an agent, a regular expression and possibly a type"),
	}
	agents := complete.SessionValues(a, func(s session.View) []string { return []string{s.Agent.Name} })
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return agents(c, args, prefix)
		case 2:
			return sessions.OutputTypes(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.JSONFlag(c, "print the artifact as JSON", cli.Prints(handoff.Artifact{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			output, file, err := w.Sessions().LatestOutput(c.Context(), args[0], args[1], strings.Join(args[2:], ""))
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(output)
			}
			fmt.Fprintln(a.Out, file)
			return nil
		})
	}
	return c
}
