package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func configCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "config [COMMAND]",
		Short:   "Show and change settings; accept a shared log",
		Long:    "Config lists the settings that apply and their sources, like config explain.",
		Example: "  handoff config\n  handoff config explain session_folder",
		Args:    cobra.ArbitraryArgs,
	}
	a.JSONFlag(c, "print JSON", cli.Prints(settingList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Group(c, args)
		}
		return printSettings(a)
	}
	c.AddCommand(configExplainCommand(a), configSetCommand(a), configTrustCommand(a))
	return c
}

func configSetCommand(a *cli.App) *cobra.Command {
	var change settings.Change
	c := &cobra.Command{
		Use:   "set NAME VALUE",
		Short: "Change your own settings, for this workspace or for all",
		Long: `Set changes a setting in your own settings file, config.yaml in your
configuration directory, for this workspace. With --default it is for every
workspace that has no value of its own.

What keeps or sends private data is decided here only: keep_threads, and
share_threads for each workspace. A file of the workspace can't set it, because
a repository can bring one. Other settings here win over the same ones in
.handoff/config.yaml and handoff.yaml: archive_after, keep, limits.digest,
limits.worktree_keep, queue, output_folder and agent_outputs_folder.

With "moved OLD NEW", the threads of a directory that no longer exists, and of
those that were in it, are listed where NEW is: in that repository or workspace.
It is required only for an OLD that was not seen by a command while it existed.`,
		Example: "  handoff config set keep_threads true\n  handoff config set keep never --default\n  handoff config set " +
			"share_threads --unset\n  handoff config set moved ~/src/old ~/src/new",
		Args: cli.Between(1, 3, "a name and a value"),
	}
	c.Flags().BoolVar(&change.Unset, "unset", false, "remove the setting; without a value")
	c.Flags().BoolVar(&change.Defaults, "default", false,
		"change the setting for every workspace that has no value of its own")
	a.JSONFlag(c, "print the settings that apply as JSON", cli.Prints(settingList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := set(c.Context(), a, change, args); err != nil {
			return err
		}
		return printSettings(a)
	}
	return c
}

// set changes a setting, or where a directory was moved.
func set(ctx context.Context, a *cli.App, change settings.Change, args []string) error {
	const moved = "moved"
	values := 1
	if args[0] == moved {
		values = 2
	}
	if change.Unset {
		values--
	}
	if len(args) != 1+values {
		return cli.Invalid("config set", args[0], "requires a value, or --unset without one",
			"give the value after the name; moved has two directories")
	}
	if args[0] == moved {
		to := ""
		if !change.Unset {
			to = cli.Absolute(a.Dir, args[2])
		}
		return workspace.SetMoved(ctx, a.Options(), cli.Absolute(a.Dir, args[1]), to)
	}
	change.Name = args[0]
	if !change.Unset {
		change.Value = args[1]
	}
	return workspace.SetSetting(ctx, a.Dir, a.Options(), change)
}

func configTrustCommand(a *cli.App) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "trust URL",
		Short: "Accept the log that a file of the workspace names",
		Long: `Trust accepts a log that handoff.yaml or .handoff/config.yaml names: records
and contents of this workspace may then be sent there. Before that, commands
that need the log are refused. URL is the one in the file; its user name and
password may be left out. If the file names another log later, or the URL leads
elsewhere, such as a git remote with a changed URL, that is not accepted.
A repository inside the workspace can't be accepted.

It prints what it permits. Threads are sent only if you allow it with
"handoff config set share_threads true".

What you accept is stored in your own configuration directory. A log that
HANDOFF_LOG names needs no acceptance.`,
		Example: "  handoff config trust https://log.example.org/team",
		Args:    cli.Exactly(1, "one URL"),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(settingList{}))
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print what it permits, and accept nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		trust, said := workspace.TrustLog, "accepted"
		if dryRun {
			trust, said = workspace.DescribeTrust, "not accepted yet"
		}
		permits, err := trust(a.Dir, a.Options(), args[0])
		if err != nil {
			return err
		}
		if a.AsJSON {
			return printSettings(a)
		}
		fmt.Fprintln(a.Out, said)
		printTrust(a, permits)
		return nil
	}
	return c
}

// printTrust prints what accepting a log permits.
func printTrust(a *cli.App, t workspace.LogTrust) {
	line := func(name, value string) { fmt.Fprintf(a.Out, "%-13s%s\n", name, textfmt.OneLine(value)) }
	line("workspace", t.Workspace)
	line("log", t.Log)
	for _, d := range t.Destinations {
		line("destination", d)
	}
	copies := map[handoff.Keep]string{handoff.KeepNever: "no copies of files (keep = never)",
		handoff.KeepAlways: "copies of all published files (keep = always)"}[t.Keep]
	line("sent there", "records, and "+cmp.Or(copies,
		"copies of published files as keep and the limits say (keep = auto)"))
	if t.Threads {
		line("", "kept threads, secrets redacted (share_threads = true)")
	} else {
		line("not sent", "threads (share_threads is not true in your own settings)")
	}
}

// A settingList has the settings that apply.
type settingList struct {
	Settings []settings.Entry `json:"settings"`
}

// printSettings prints the settings that apply.
func printSettings(a *cli.App) error {
	list, err := workspace.Settings(a.Dir, a.Options())
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSON(settingList{list})
	}
	for _, s := range list {
		note := ""
		if s.Ignored {
			a.WarnIgnored(s)
			note = ", ignored"
		}
		fmt.Fprintf(a.Out, "%s  (%s%s)\n", textfmt.OneLine(s.Name+" = "+s.Value), textfmt.OneLine(s.Source), note)
	}
	return nil
}

func configExplainCommand(a *cli.App) *cobra.Command {
	var o session.VariableOptions
	c := &cobra.Command{
		Use:   "explain [NAME]",
		Short: "List settings, or show how a path variable is resolved",
		Long: `Without a name, explain lists the settings that apply and their sources. Your
own settings win over .handoff/config.yaml, and that wins over handoff.yaml,
which a repository shares.

With a name, explain resolves a variable like a session does and shows the
source of each part: the engine, workflow.yaml, the bundle's config.yaml, or a
default. {x} and {{x}} are the same. NAME can also be a text that contains
variables. Outside a session, its ID is shown as SESSION_ID.`,
		Example:           "  handoff config explain session_folder --workflow-file workflow.yaml",
		Args:              cli.Between(0, 1, "at most one name"),
		ValidArgsFunction: cobra.FixedCompletions(sessions.VariableNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	f := c.Flags()
	f.StringVar(&o.WorkflowFile, "workflow-file", "", "workflow.yaml `file`")
	f.StringVar(&o.ConfigFile, "config-file", "", "config.yaml `file` of the bundle")
	f.StringVar(&o.Bundle, "bundle", "", "bundle `path`")
	f.StringVar(&o.SessionID, "session", "", "session `ID` (default: HANDOFF_SESSION)")
	a.JSONFlag(c, "print JSON", cli.Prints(session.Explanation{}), cli.Prints(settingList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return printSettings(a)
		}
		o.DefaultUser = userdir.Name(a.Getenv)
		return a.Reading(func(w *workspace.Workspace) error {
			e, err := w.Sessions().Explain(args[0], o)
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
				fmt.Fprintf(a.Out, "%s  (%s)\n", textfmt.OneLine(line), s.Source)
			}
			fmt.Fprintln(a.Out, textfmt.OneLine(e.Value))
			return nil
		})
	}
	return c
}
