package sessions

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func configCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
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
	var files workspace.SessionFiles
	var bundle, id string
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Show how a path variable is resolved",
		Long: `Explain resolves a variable like a session does and shows the source of each
part: the engine, workflow.yaml, the bundle's config.yaml, or a default. {x} and
{{x}} are the same. NAME can also be a text that contains variables.`,
		Example: "  handoff config explain session_folder --workflow-file workflow.yaml",
		Args:    cli.Exactly(1, "one name"),
	}
	c.Flags().StringVar(&files.Workflow, "workflow-file", "", "workflow.yaml `file`")
	c.Flags().StringVar(&files.Config, "config-file", "", "config.yaml `file` of the bundle")
	c.Flags().StringVar(&bundle, "bundle", "", "bundle `path`")
	c.Flags().StringVar(&id, "session", "", "session `id` (default: HANDOFF_SESSION)")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			paths, err := w.Paths(sessionFiles(a, files), bundle)
			if err != nil {
				return err
			}
			paths.SessionID = cmp.Or(id, a.Getenv("HANDOFF_SESSION"))
			explain := paths.Explain
			if strings.ContainsRune(args[0], '{') {
				explain = paths.Resolve
			}
			value, steps, err := explain(args[0])
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(struct {
					Name          string                `json:"name"`
					Value         string                `json:"value"`
					Substitutions []config.Substitution `json:"substitutions"`
				}{args[0], value, steps})
			}
			for _, s := range steps {
				line := strings.Repeat("  ", s.Depth) + s.Text + " = " + s.Said
				if s.Value != s.Said {
					line += " = " + s.Value
				}
				fmt.Fprintf(a.Out, "%s  (%s)\n", cli.OneLine(line), s.From)
			}
			fmt.Fprintln(a.Out, cli.OneLine(value))
			return nil
		})
	}
	return c
}

// sessionFiles makes the paths of flags absolute and adds the user.
func sessionFiles(a *cli.App, files workspace.SessionFiles) workspace.SessionFiles {
	for _, name := range []*string{&files.Agent, &files.Workflow, &files.Config} {
		if *name != "" {
			*name = cli.Absolute(a.Dir, *name)
		}
	}
	files.User = cmp.Or(a.Getenv("USER"), a.Getenv("USERNAME"), "user")
	return files
}
