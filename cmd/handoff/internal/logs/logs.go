// Package logs has the commands about the log of a workspace.
package logs

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands of the package.
var Commands = []cli.Command{cli.NewCommand(logCommand, "log")}

func logCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "log",
		Short:   "Show the log of the workspace, or copy a log to another one",
		GroupID: cli.Setup,
		Long: `The log is where records are stored: in the runtime directory, or in the
location that the variable HANDOFF_LOG or the setting log has. docs/machines.md
describes logs that several machines share.`,
		Example: "  handoff log status\n  handoff log copy file: git:origin",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return cli.UnknownCommand(c, args[0])
	}
	c.AddCommand(logStatusCommand(a), logCopyCommand(a))
	return c
}

func logStatusCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show where the log is and how many records it has",
		Long:    "Status asks the log for its newest record. The exit code is 5 if the log can't\nbe reached.",
		Example: "  handoff log status",
		Args:    cli.Exactly(0, ""),
	}
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			s, err := w.LogStatus(c.Context())
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(s)
			}
			fmt.Fprintf(a.Out, "log      %s  (%s)\nrecords  %d\n", cli.OneLine(s.Location), cli.OneLine(s.Source), s.LastSeq)
			if s.ID != "" {
				fmt.Fprintf(a.Out, "id       %s\n", s.ID)
			}
			if s.Origin != "" {
				fmt.Fprintf(a.Out, "origin   %s\n", s.Origin)
			}
			return nil
		})
	}
	return c
}

func logCopyCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy the records and bodies of a log to another one",
		Long: `Copy appends to the log TO the records of FROM that it does not have, with
their bodies, and compares what it has copied. FROM and TO are locations as in
HANDOFF_LOG; file: is the log in the runtime directory of this workspace.

Records keep their IDs. TO must be empty or be the beginning of FROM, so the
same command continues a copy that was interrupted. No other command should
write to TO during the copy. FROM is not changed.`,
		Example: "  handoff log copy file: git:origin\n  handoff log copy git:origin file:",
		Args:    cli.Exactly(2, "FROM TO"),
	}
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		o := a.Options()
		o.Progress = a.Progress("copying")
		done, err := workspace.CopyLog(c.Context(), a.Dir, o, args[0], args[1])
		if err != nil {
			return err
		}
		for _, id := range done.Missing {
			a.Warn("the body of %s is not in the source", id)
		}
		if a.AsJSON {
			return a.JSON(done)
		}
		bodies := "1 body"
		if done.Bodies != 1 {
			bodies = fmt.Sprintf("%d bodies", done.Bodies)
		}
		_, err = fmt.Fprintf(a.Out, "copied %s and %s; the log has %s\n", cli.Count(done.Copied, "record"), bodies, cli.Count(done.Records, "record"))
		return err
	}
	return c
}
