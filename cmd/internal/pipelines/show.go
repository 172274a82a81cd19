package pipelines

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// AttemptColumns are the columns of PrintOverview.
var AttemptColumns = []cli.Column{
	{Name: "stage"}, {Name: "attempt"}, {Name: "outcome"}, {Name: "agent", Rank: 5}, {Name: "inputs", Rank: 4},
	{Name: "submitted", Rank: 6}, {Name: "took", Rank: 7}, {Name: "revision", Rank: 1, Long: true},
	{Name: "decision", Rank: 3, Text: true}, {Name: "notes", Rank: 2, Text: true},
}

// PrintOverview prints a run: every attempt, what is stale, and what comes next.
func PrintOverview(a *cli.App, o pipeline.Overview, table *cli.Table) error {
	if err := table.Check(AttemptColumns); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%-6s  %s\n%-6s  %s\n", "issue", o.Issue, "folder", o.Folder)
	rows := make([][]string, len(o.Attempts))
	for i, e := range o.Attempts {
		rows[i] = attemptRow(e, o.Stages)
	}
	if err := table.Print(AttemptColumns, rows); err != nil {
		return err
	}
	for _, n := range o.Notices {
		fmt.Fprintf(a.Out, "%s  %s\n", n.Severity, textfmt.OneLine(n.Text))
	}
	(&app{a}).step(o.Next)
	restore := handoff.Suggest("write its files again", handoff.ActionRestoreRun, o.Issue)
	for _, warning := range o.Warnings {
		a.Warn("%s; %s", warning, cli.HintText(restore))
	}
	(&app{a}).warnOutdated(o.Issue, o.Next.Outdated)
	return nil
}

// attemptRow returns the row of an attempt. The notes are about the file of its stage, if the
// run's folder contains the attempt.
func attemptRow(e pipeline.Attempt, stages []pipeline.StageResult) []string {
	number, took := "", ""
	if e.Attempt > 0 {
		number = strconv.Itoa(e.Attempt)
	}
	at := "unknown"
	if !e.At.IsZero() {
		at = e.At.Format(time.RFC3339)
	}
	if e.DurationMS > 0 {
		took = (time.Duration(e.DurationMS) * time.Millisecond).String()
	}
	revision := e.Path
	if e.Ref != "" {
		revision = e.Ref + "@v" + strconv.Itoa(e.Rev)
	}
	decisions := e.Decisions
	if e.Gate != nil {
		gate := "gate failed"
		if e.Gate.Pass {
			gate = "gate passed"
		}
		decisions = append([]string{gate}, decisions...)
	}
	var notes []string
	for _, v := range stages {
		if e.Current && v.Stage == e.Stage {
			notes = append(notes, stageNotes(v)...)
		}
	}
	if e.Assumed {
		notes = append(notes, "inputs assumed")
	}
	return []string{e.Stage, number, e.Outcome, e.Agent, strings.Join(e.Read, " "), at, took, revision,
		strings.Join(decisions, "; "), strings.Join(notes, "; ")}
}

// stageNotes returns what is known of the file of a stage.
func stageNotes(v pipeline.StageResult) (notes []string) {
	if v.Stale != "" {
		notes = append(notes, "stale: "+v.Stale)
	}
	if v.Problems > 0 {
		notes = append(notes, textfmt.Count(v.Problems, "contract violation"))
	}
	if v.Summary != "" {
		notes = append(notes, v.Summary)
	}
	return notes
}

// PrintState prints the state.yaml that follows from the artifacts of a run. A difference from
// the one in its folder is a negative result.
func PrintState(a *cli.App, n pipeline.Notes) error {
	b, err := n.YAML()
	if err != nil {
		return err
	}
	for _, d := range n.Drift {
		a.Warn("state.yaml: %s", d)
	}
	return (&app{a}).answer(len(n.Drift) == 0, n, func() { a.Out.Write(b) })
}

// step prints a step, and how to decide between results.
func (a *app) step(s pipeline.Step) {
	a.lines(s.String())
	for _, c := range s.Decide {
		for _, hint := range c.Settle() {
			a.lines("        " + cli.HintText(hint))
		}
	}
}

// warnOutdated reports files that are not the newest attempt.
func (a *app) warnOutdated(issue string, list []pipeline.Outdated) {
	for _, o := range list {
		a.Warn("%s; %s", o, cli.HintText(o.Hint(issue)))
	}
}
