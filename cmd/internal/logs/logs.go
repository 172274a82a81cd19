// Package logs has the commands about the log of a workspace.
package logs

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/storage"

	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands of the package.
var Commands = []cli.Command{cli.NewCommand(logCommand, "log")}

func logCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "log",
		Short: "Show the log of the workspace, send what is queued, or copy a log",
		Long: `The log is where records are stored: in the runtime directory, or at the
location in the variable HANDOFF_LOG or the setting log. docs/machines.md
describes logs that several machines share.`,
		Example: "  handoff log\n  handoff log copy file: git:origin",
		Args:    cobra.ArbitraryArgs,
	}
	a.JSONFlag(c, "print JSON", cli.Prints(store.LogStatus{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Group(c, args)
		}
		return printStatus(c, a)
	}
	c.AddCommand(logStatusCommand(a), logSendCommand(a), logDropCommand(a), logCopyCommand(a))
	return c
}

func logStatusCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show where the log is, how many records it has, and what is queued",
		Long: `Status asks the log for its newest record, and lists the records that are queued
on this machine until the log can be reached, and those that it refused when
they were sent. If the log can't be reached, the exit code is 5, unless records
are queued for it.`,
		Example: "  handoff log status",
		Args:    cli.Exactly(0, ""),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(store.LogStatus{}))
	c.RunE = func(c *cobra.Command, _ []string) error { return printStatus(c, a) }
	return c
}

// printStatus prints where the log is and what is queued.
func printStatus(c *cobra.Command, a *cli.App) error {
	return a.Reading(func(w *workspace.Workspace) error {
		s, err := w.Store().Status(c.Context())
		if err != nil {
			return err
		}
		if a.AsJSON {
			return a.JSON(s)
		}
		fmt.Fprintf(a.Out, "log      %s  (%s)\nrecords  %d\n", textfmt.OneLine(s.Location), textfmt.OneLine(s.Source),
			s.LastSeq)
		if s.ID != "" {
			fmt.Fprintf(a.Out, "id       %s\n", s.ID)
		}
		if s.Origin != "" {
			fmt.Fprintf(a.Out, "origin   %s\n", s.Origin)
		}
		for _, d := range s.Details {
			fmt.Fprintf(a.Out, "%-8s %s\n", d.Name, textfmt.OneLine(d.Value))
		}
		printQueue(a, s)
		return nil
	})
}

// printQueue prints what is queued.
func printQueue(a *cli.App, s store.LogStatus) {
	if s.Unavailable != "" {
		fmt.Fprintf(a.Out, "offline  %s\n", textfmt.OneLine(s.Unavailable))
	}
	for _, q := range s.Queued {
		fmt.Fprintf(a.Out, "queued   %s  %s  %s  %s\n", q.ID, q.Type, textfmt.Stamp(q.CreatedAt), textfmt.OneLine(q.Path))
	}
	for _, r := range s.Refused {
		fmt.Fprintf(a.Out, "refused  %s  %s\n", r.ID, textfmt.OneLine(r.Reason))
	}
	switch {
	case s.Copied:
		a.Warn("the queue was copied from elsewhere, and nothing of it is sent without a request; run: %s",
			cli.CommandLine(handoff.ActionSend))
	case len(s.Refused) > 0:
		fmt.Fprintf(a.Err, "refused records are kept: %s tries them again, and %s log drop removes them\n",
			cli.CommandLine(handoff.ActionSend), cli.Name())
	case len(s.Queued) > 0:
		fmt.Fprintf(a.Err, "queued records are sent by the next command that records something, or by %s\n",
			cli.CommandLine(handoff.ActionSend))
	}
}

func logSendCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "send",
		Short: "Send the records that were queued while the log could not be reached",
		Long: `Send sends the records that are queued on this machine, each once, in the order
in which they were recorded. Every command that records something does the same,
and so do handoff run and the hook at the end of a session.

A record that the log refuses is kept, and the exit code is then 4. Send tries
these again, and handoff log drop removes them. Send also sends what a directory
that was copied from elsewhere has queued, which no other command does. The exit
code is 5 if the log can't be reached.`,
		Example: "  handoff log send",
		Args:    cli.Exactly(0, ""),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(storage.Sent{}))
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			sent, err := w.Store().Send(c.Context())
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(sent)
			}
			_, err = fmt.Fprintf(a.Out, "sent %s\n", textfmt.Count(sent.Sent, "record"))
			return err
		})
	}
	return c
}

func logDropCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "drop [ID...]",
		Short: "Show the queued records that the log refused, or remove some of them",
		Long: `Drop removes queued records that the log refused when they were sent, and
prints what it removes. Without an ID, it lists these records and removes
nothing. With --json, records are printed complete.

Only records that the log refused can be removed. The content that they refer
to stays on this machine until handoff gc collects it.`,
		Example: "  handoff log drop\n  handoff log drop art_01K9ZB4D7MQ2V8WX5T3N6R1CYF",
		Args:    cobra.ArbitraryArgs,
	}
	a.JSONFlag(c, "print JSON", cli.Prints(droppedRecords{}))
	c.RunE = func(c *cobra.Command, ids []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			var answer droppedRecords
			label, list, err := "refused", []storage.RefusedRecord(nil), error(nil)
			if len(ids) == 0 {
				list, err = w.Store().Refused(c.Context())
				answer.Refused = append([]storage.RefusedRecord{}, list...)
			} else {
				label = "dropped"
				list, err = w.Store().Drop(c.Context(), ids)
				answer.Dropped = append([]storage.RefusedRecord{}, list...)
			}
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(answer)
			}
			for _, r := range list {
				fmt.Fprintf(a.Out, "%s  %s  %s  %s  %s  %s\n", label, r.Record.ID, r.Record.Type, textfmt.Stamp(r.Record.CreatedAt),
					subject(r.Record), textfmt.OneLine(r.Reason))
			}
			return nil
		})
	}
	return c
}

// droppedRecords are the records that a log refused, or those of them that were dropped.
type droppedRecords struct {
	Refused []storage.RefusedRecord `json:"refused,omitzero"`
	Dropped []storage.RefusedRecord `json:"dropped,omitzero"`
}

// subject returns the path and the title of a published artifact.
func subject(r handoff.Record) string {
	f, ok := r.Fact.(*handoff.ArtifactPublished)
	if !ok {
		return "-"
	}
	return textfmt.OneLine(strings.TrimSpace(f.Path + " " + f.Title))
}

func logCopyCommand(a *cli.App) *cobra.Command {
	var redact bool
	c := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy the records and bodies of a log to another one",
		Long: `Copy appends to the log TO the records of FROM that it does not have, with
their bodies, and compares what it has copied. FROM and TO are locations as in
HANDOFF_LOG; file: is the log in the runtime directory of this workspace.

Records keep their IDs. TO must be empty or be the beginning of FROM, so the
same command continues a copy that was interrupted. No other command should
write to TO during the copy. FROM is not changed.

--redact writes records without the secrets that handoff withdraw --redact has
replaced, to a new log.`,
		Example: "  handoff log copy file: git:origin\n  handoff log copy git:origin file:",
		Args:    cli.Exactly(2, "two logs, FROM and TO"),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(storage.LogCopy{}))
	c.Flags().BoolVar(&redact, "redact", false, "write records without the secrets that were redacted")
	c.RunE = func(c *cobra.Command, args []string) error {
		o := a.Options()
		o.Progress = a.Progress("copying")
		copyLog := workspace.CopyLog
		if redact {
			copyLog = workspace.CopyRedactedLog
		}
		done, err := copyLog(c.Context(), a.Dir, o, args[0], args[1])
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
		_, err = fmt.Fprintf(a.Out, "copied %s and %s; the log has %s\n", textfmt.Count(done.Copied, "record"), bodies,
			textfmt.Count(done.Records, "record"))
		return err
	}
	return c
}
