package sessions

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// openingFlags say what a session is.
type openingFlags struct {
	opening session.Opening
	inputs  []string
	files   workspace.SessionFiles
}

func (f *openingFlags) add(c *cobra.Command) {
	o, flags := &f.opening, c.Flags()
	flags.StringVar(&o.Agent.Name, "agent", "", "the agent's `name`")
	flags.StringVar(&o.Agent.Title, "title", "", "the agent's `title` for people")
	flags.StringVar(&o.Agent.Bundle, "bundle", "", "the agent's bundle, as `path`")
	flags.StringVar(&o.Workflow.Name, "workflow", "", "the workflow's `name`")
	flags.StringVar(&o.Workflow.Description, "description", "", "what the workflow does, as one `line`")
	flags.StringVar(&o.User, "user", "", "who `began` it (default: the bundle's user_name, else USER)")
	flags.StringArrayVar(&f.inputs, "input", nil, "an input of the workflow, as `key=value`; may be repeated")
	flags.StringVar(&f.files.Agent, "agent-file", "", "a `file` that says name, title and bundle of the agent")
	flags.StringVar(&f.files.Workflow, "workflow-file", "", "the workflow.yaml, as `file`")
	flags.StringVar(&f.files.Config, "config-file", "", "the bundle's config.yaml, as `file`")
}

// resolve returns the opening that the flags make.
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
		Short: "Begin a session: print its id, folder, manifest and every variable",
		Long: `Open begins a session: it mints the id, makes the folder, renders the manifest,
and prints what an engine needs as JSON, or with --env as lines for a shell.

Where the folder lies is {session_folder} of the workflow, which lies in
{agent_outputs_folder} of the bundle; handoff config explain shows how each is
resolved.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session open --agent-file alex.md --workflow-file workflow.yaml",
		Args:    cli.Exactly(0, ""),
	}
	f.add(c)
	c.Flags().StringVar(&f.opening.ID, "id", "", "the session's `UUID` (default: a new one)")
	c.Flags().BoolVar(&env, "env", false, "print export lines for a shell")
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
					fmt.Fprintf(a.Out, "export %s=%s\n", name, quoted(opened.Env[name]))
				}
				return nil
			}
			return a.JSON(opened)
		})
	}
	return c
}

// quoted is s as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
