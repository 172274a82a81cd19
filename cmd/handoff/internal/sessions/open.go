package sessions

import (
	"encoding/json"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// openingFlags describe a session.
type openingFlags struct {
	opening session.Opening
	inputs  []string
	files   workspace.SessionFiles
}

func (f *openingFlags) add(c *cobra.Command) {
	o, flags := &f.opening, c.Flags()
	flags.StringVar(&o.Agent.Name, "agent", "", "agent `name`")
	flags.StringVar(&o.Agent.Title, "title", "", "agent `title`, for display")
	flags.StringVar(&o.Agent.Bundle, "bundle", "", "`path` of the agent's bundle")
	flags.StringVar(&o.Workflow.Name, "workflow", "", "workflow `name`")
	flags.StringVar(&o.Workflow.Description, "description", "", "`text` that describes the workflow, on one line")
	flags.StringVar(&o.User, "user", "", "`name` of the user who started it (default: the bundle's user_name, otherwise USER)")
	flags.StringArrayVar(&f.inputs, "input", nil, "workflow input, as `key=value`; may be repeated")
	flags.StringVar(&f.files.Agent, "agent-file", "", "agent `file`, with the agent's name, title and bundle")
	flags.StringVar(&f.files.Workflow, "workflow-file", "", "workflow.yaml `file`")
	flags.StringVar(&f.files.Config, "config-file", "", "config.yaml `file` of the bundle")
}

// resolve returns what the flags describe.
func (f *openingFlags) resolve(a *cli.App) (session.Opening, workspace.SessionFiles, error) {
	o := f.opening
	inputs, err := cli.Pairs("--input", f.inputs)
	if err != nil {
		return o, f.files, err
	}
	for key, value := range inputs {
		b, err := json.Marshal(value)
		if err != nil {
			return o, f.files, err
		}
		if o.Inputs == nil {
			o.Inputs = map[string]json.RawMessage{}
		}
		o.Inputs[key] = b
	}
	return o, sessionFiles(a, f.files), nil
}

func openCommand(a *cli.App) *cobra.Command {
	var f openingFlags
	var env bool
	c := &cobra.Command{
		Use:   "open --agent NAME --workflow NAME",
		Short: "Start a session and print its id, folder and variables",
		Long: `Open starts a session: it generates an id, creates the folder, renders the
manifest and prints what an engine needs, as JSON or, with --env, as export
lines for a shell.

The folder is the workflow's {session_folder}, inside the bundle's
{agent_outputs_folder}; handoff config explain shows how they are resolved.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n" +
			"  handoff session open --agent-file alex.md --workflow-file workflow.yaml",
		Args: cli.Exactly(0, ""),
	}
	f.add(c)
	c.Flags().StringVar(&f.opening.ID, "id", "", "session `UUID` (default: a new one)")
	c.Flags().BoolVar(&env, "env", false, "print export lines for a shell")
	a.JSONFlag(c, "print JSON (the default)")
	c.MarkFlagsMutuallyExclusive("env", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		o, files, err := f.resolve(a)
		if err != nil {
			return err
		}
		return a.WritingTidy(func(w *workspace.Workspace) error {
			producer, err := new(cli.Identity).Resolve(a)
			if err != nil {
				return err
			}
			opened, err := w.OpenSession(c.Context(), producer, o, files)
			if err != nil {
				return err
			}
			for _, text := range opened.Warnings {
				a.Warn("%s", text)
			}
			if env {
				for _, name := range cli.SortedKeys(opened.Env) {
					fmt.Fprintf(a.Out, "export %s=%s\n", name, cli.ShellWord(opened.Env[name]))
				}
				return nil
			}
			return a.JSON(opened)
		})
	}
	return c
}
