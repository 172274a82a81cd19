package program

import (
	"context"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/doctor"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/spf13/cobra"
)

// doctorAnswer is the JSON of doctor.
type doctorAnswer struct {
	Checks   []string        `json:"checks"`
	Findings []doctorFinding `json:"findings"`
}

type doctorFinding struct {
	Check    string          `json:"check"`
	Severity doctor.Severity `json:"severity"`
	Text     string          `json:"text"`
	Repair   string          `json:"repair,omitempty"`
}

func doctorCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find what prevents handoff from working, and how to repair it",
		Long: `Doctor examines the programs on PATH, your directories, handoff's entries in the
files of agent programs, their newest threads, and the workspace of the current
directory with its log and queue. It prints each problem and how to repair it,
and repairs nothing. To see whether files can be written, it creates a temporary
file and removes it.

Exit status 1: there is a problem. A warning alone does not change the status.`,
		Example: "  handoff doctor\n  handoff doctor --json",
		Args:    cli.Exactly(0, ""),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(doctorAnswer{}))
	c.RunE = func(c *cobra.Command, _ []string) error { return examine(c.Context(), a) }
	return c
}

func examine(ctx context.Context, a *cli.App) error {
	t, _ := userTarget(a) // the examination of the workspace has the error
	found := doctor.Examine(ctx, doctor.Machine{Self: a.Self, Dir: a.Dir, Getenv: a.Getenv, Target: t,
		State: userdir.State(a.Getenv), LookPath: func(program string) string { return lookPath(a, program) },
		Options: a.Options()})
	answer := doctorAnswer{Checks: doctor.Checks(), Findings: []doctorFinding{}}
	failed := false
	var err error
	for _, f := range found {
		answer.Findings = append(answer.Findings, doctorFinding{f.Check, f.Severity, f.Text, cli.HintText(f.Repair)})
		failed = failed || f.Severity == doctor.Problem
	}
	if a.AsJSON {
		err = a.JSON(answer)
	} else {
		printFindings(a, answer)
	}
	if err == nil && failed {
		return cli.ErrNo
	}
	return err
}

func printFindings(a *cli.App, answer doctorAnswer) {
	for _, name := range answer.Checks {
		if !slices.ContainsFunc(answer.Findings, func(f doctorFinding) bool { return f.Check == name }) {
			fmt.Fprintf(a.Out, "%-7s  %s\n", "ok", name)
		}
	}
	for _, f := range answer.Findings {
		fmt.Fprintf(a.Out, "%-7s  %s: %s\n", f.Severity, f.Check, textfmt.OneLine(f.Text))
		if f.Repair != "" {
			fmt.Fprintf(a.Out, "         %s\n", textfmt.OneLine(f.Repair))
		}
	}
}
