package main

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func checkCommand(a *cli.App) *cobra.Command {
	var repair bool
	c := &cobra.Command{
		Use:     "check",
		Short:   "Verify the integrity of the log and stored bodies",
		GroupID: cli.Setup,
		Long: `Check reads every record of the log and every kept body, and reports problems:
missing or altered records and bodies, duplicate IDs, foreign files, and records
that the index knows but the log has lost. A note is not a problem: it concerns
something derived, or something that a killed process left behind.

With --repair, a missing record's position is marked so that later records can
be read again, derived files are rebuilt and damaged bodies are quarantined. A
missing body is stored again if its file is as published. No record is changed.

The exit code is 1 if there is a problem.`,
		Example: "  handoff check\n  handoff check --repair",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired without changing a record")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			if repair {
				found, err := w.Repair(c.Context(), a.Now())
				if err != nil {
					return err
				}
				for _, f := range found.Findings {
					fmt.Fprintf(a.Err, "found: %s: %s\n", cli.OneLine(f.Name), cli.OneLine(f.Text))
				}
			}
			report, err := w.Check(c.Context())
			if err != nil {
				return err
			}
			if a.AsJSON {
				err = a.JSON(report)
			} else {
				for _, f := range report.Findings {
					kind := "problem"
					if f.Note {
						kind = "note"
					}
					fmt.Fprintf(a.Out, "%s: %s: %s\n", kind, cli.OneLine(f.Name), cli.OneLine(f.Text))
				}
				fmt.Fprintf(a.Out, "%d records\n", report.Records)
			}
			if err == nil && !report.OK() {
				err = cli.ErrNo
			}
			return err
		})
	}
	return c
}
