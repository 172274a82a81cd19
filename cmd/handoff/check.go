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
		Short:   "Look whether every record and kept body is whole",
		GroupID: cli.Setup,
		Long: `Check reads every record of the workspace's log and every kept body, and tells
what is wrong: a record or a body that is missing or is not what was written, an
id that two records have, a file that does not belong, records that the index
knows and the log has lost. Notes are about what is derived, or was left by a
process that died; they are no fault.

With --repair a missing record's place is marked, so that those after it can be
read again, and what is derived is made again. A damaged body is kept aside, and
a missing one is kept anew where its file is as published, or when the same
bytes are published again. No record is ever changed.

Exit code 1 says that something is wrong.`,
		Example: "  handoff check\n  handoff check --repair",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&repair, "repair", false, "mend what can be mended without changing a record")
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
			if err == nil && !report.Sound() {
				err = cli.ErrNo
			}
			return err
		})
	}
	return c
}
