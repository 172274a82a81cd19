package sessions

import (
	"cmp"
	"fmt"
	"os/user"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func configCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "config COMMAND",
		Short:   "Explain the configuration of paths",
		GroupID: cli.Setup,
		Example: "  handoff config explain session_folder",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return cli.UnknownCommand(c, args[0])
	}
	c.AddCommand(configExplainCommand(a))
	return c
}

func configExplainCommand(a *cli.App) *cobra.Command {
	var o workspace.VariableOptions
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Show how a path variable is resolved",
		Long: `Explain resolves a variable like a session does and shows the source of each
part: the engine, workflow.yaml, the bundle's config.yaml, or a default. {x} and
{{x}} are the same. NAME can also be a text that contains variables. Outside a
session, its ID is shown as SESSION_ID.`,
		Example:           "  handoff config explain session_folder --workflow-file workflow.yaml",
		Args:              cli.Exactly(1, "one name"),
		ValidArgsFunction: cobra.FixedCompletions(workspace.VariableNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	f := c.Flags()
	f.StringVar(&o.WorkflowFile, "workflow-file", "", "workflow.yaml `file`")
	f.StringVar(&o.ConfigFile, "config-file", "", "config.yaml `file` of the bundle")
	f.StringVar(&o.Bundle, "bundle", "", "bundle `path`")
	f.StringVar(&o.SessionID, "session", "", "session `ID` (default: HANDOFF_SESSION)")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.DefaultUser = defaultUser(a)
		return a.Reading(func(w *workspace.Workspace) error {
			e, err := w.Explain(args[0], o)
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(e)
			}
			for _, s := range e.Substitutions {
				line := strings.Repeat("  ", s.Depth) + s.Text + " = " + s.Definition
				if s.Value != s.Definition {
					line += " = " + s.Value
				}
				fmt.Fprintf(a.Out, "%s  (%s)\n", cli.OneLine(line), s.Source)
			}
			fmt.Fprintln(a.Out, cli.OneLine(e.Value))
			return nil
		})
	}
	return c
}

// defaultUser is the user that the environment or the system names.
func defaultUser(a *cli.App) string {
	name := cmp.Or(a.Getenv("USER"), a.Getenv("USERNAME"))
	if name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user"
}
