package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// openFlags describe a new session.
type openFlags struct {
	options session.OpenOptions
	inputs  []string
}

func (f *openFlags) add(c *cobra.Command) {
	o, flags := &f.options, c.Flags()
	flags.StringVar(&o.Agent.Name, "agent", "", "agent `name`")
	flags.StringVar(&o.Agent.Title, "title", "", "agent `title`")
	flags.StringVar(&o.Agent.Bundle, "bundle", "", "bundle `path` of the agent")
	flags.StringVar(&o.Workflow.Name, "workflow", "", "workflow `name`")
	flags.StringVar(&o.Workflow.Description, "description", "", "workflow description `text`, one line")
	flags.StringVar(&o.User, "user", "",
		"`name` of the user who started the session (default: the bundle's user_name, then USER)")
	flags.StringArrayVar(&f.inputs, "input", nil, "workflow input, as `key=value`; may be repeated")
	flags.StringArrayVar(&o.Links, "link", nil,
		"session that it builds on, or an artifact of one, as `ref`; may be repeated")
	flags.StringArrayVar(&o.Expected, "expect", nil, "`name` or file of an output that it should leave; may be repeated")
	flags.StringVar(&o.AgentFile, "agent-file", "", "`file` with the agent's name, title and bundle")
	flags.StringVar(&o.WorkflowFile, "workflow-file", "", "workflow.yaml `file`")
	flags.StringVar(&o.ConfigFile, "config-file", "", "config.yaml `file` of the bundle")
}

// resolve returns the options that the flags set.
func (f *openFlags) resolve(a *cli.App) (session.OpenOptions, error) {
	o := f.options
	o.DefaultUser = userdir.Name(a.Getenv)
	var err error
	o.Inputs, err = values("--input", f.inputs)
	return o, err
}

func openCommand(a *cli.App) *cobra.Command {
	var f openFlags
	var env bool
	c := &cobra.Command{
		Use:   "open --agent NAME --workflow NAME",
		Short: "Start a session and print its ID, folder and variables",
		Long: `Open starts a session: it generates an ID, creates the folder, renders the
manifest and prints what an engine needs, as JSON or, with --env, as export
lines for a shell.

The folder is the workflow's {session_folder}, inside the bundle's
{agent_outputs_folder}; handoff config explain shows how they are resolved.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session open " +
			"--agent-file alex.md --workflow-file workflow.yaml",
		Args: cli.Exactly(0, ""),
	}
	f.add(c)
	a.AllowSecretFlag(c)
	c.Flags().StringVar(&f.options.ID, "id", "", "session `UUID` (default: a new one)")
	c.Flags().BoolVar(&env, "env", false, "print export lines for a shell")
	a.JSONFlag(c, "print JSON (the default)", cli.Prints(session.Opened{}))
	c.MarkFlagsMutuallyExclusive("env", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		o, err := f.resolve(a)
		if err != nil {
			return err
		}
		return a.Writing(func(w *workspace.Workspace) error {
			opened, err := w.Sessions().Open(c.Context(), o)
			if err != nil {
				return err
			}
			a.Warnings(opened.Warnings)
			if env {
				printExports(a, opened.Env)
				return nil
			}
			return a.JSON(opened)
		})
	}
	return c
}
