package program

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/heap"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func checkCommand(a *cli.App) *cobra.Command {
	var repair bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify the integrity of the log and stored bodies",
		Long: `Check reads every record of the log and every kept body, and reports problems:
missing or altered records and bodies, duplicate IDs, foreign files, and
records that this machine knows but the log has lost. A note is not a problem:
it concerns something derived, or something that a killed process left behind.

With --repair, missing and damaged records are restored from their second links
where those are intact; other positions are marked so that later records can be
read again. Derived files are rebuilt, and damaged records and bodies are
quarantined. A missing body is stored again if its file is as published. A log
that has lost records is accepted as it is on this machine. No intact record is
changed.

The exit code is 1 if there is a problem.`,
		Example: "  handoff check\n  handoff check --repair",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired without changing a record")
	a.JSONFlag(c, "print JSON", cli.Prints(handoff.Report{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		defer heap.Set(a.Getenv, 50)() // the states of a long log are a third of the memory that is used
		return a.Reading(func(w *workspace.Workspace) error {
			if repair {
				found, err := w.Store().Repair(c.Context(), a.Now())
				if err != nil {
					return err
				}
				for _, f := range found.Findings {
					fmt.Fprintf(a.Err, "found: %s: %s\n", textfmt.OneLine(f.Name), textfmt.OneLine(f.Text))
				}
			}
			report, err := w.Store().Check(c.Context())
			if err != nil {
				return err
			}
			if a.AsJSON {
				err = a.JSON(report)
			} else {
				printReport(a, report)
			}
			if err == nil && !report.OK() {
				err = cli.ErrNo
			}
			return err
		})
	}
	return c
}

// printReport prints the findings of a report and their number. Of findings with
// the same text it prints the first ones and how many more there are.
func printReport(a *cli.App, report handoff.Report) {
	const shown = 3
	type group struct {
		kind, text string
	}
	count, kinds := map[group]int{}, map[string]int{}
	var groups []handoff.Finding // the first of each
	for _, f := range report.Findings {
		g := group{findingKind(f), f.Text}
		if count[g]++; count[g] == 1 {
			groups = append(groups, f)
		}
		if kinds[g.kind]++; count[g] <= shown {
			fmt.Fprintf(a.Out, "%s: %s: %s\n", g.kind, textfmt.OneLine(f.Name), textfmt.OneLine(f.Text))
		}
	}
	for _, f := range groups {
		g := group{findingKind(f), f.Text}
		if more := count[g] - shown; more > 0 {
			fmt.Fprintf(a.Out, "%s: %d more: %s\n", g.kind, more, textfmt.OneLine(f.Text))
		}
		if !f.Hint.IsZero() {
			fmt.Fprintf(a.Out, "hint: %s\n", textfmt.OneLine(cli.HintText(f.Hint)))
		}
	}
	summary := textfmt.Count(report.Records, "record")
	for _, kind := range []string{problem, note} {
		if n := kinds[kind]; n > 0 {
			summary += ", " + textfmt.Count(n, kind)
		}
	}
	fmt.Fprintln(a.Out, summary)
}

// The kinds of findings.
const (
	problem = "problem"
	note    = "note"
)

func findingKind(f handoff.Finding) string {
	if f.Note {
		return note
	}
	return problem
}
