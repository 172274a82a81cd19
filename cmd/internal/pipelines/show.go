package pipelines

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// StageColumns are the columns of PrintOverview.
var StageColumns = []cli.Column{
	{Name: "stage"}, {Name: "outcome"}, {Name: "attempts", Rank: 3}, {Name: "path", Rank: 1, Long: true},
	{Name: "summary", Rank: 2, Text: true},
}

// PrintOverview prints the summary of a run: its stages, what is stale, and what
// comes next.
func PrintOverview(a *cli.App, o pipeline.Overview, table *cli.Table) error {
	if err := table.Check(StageColumns); err != nil {
		return err
	}
	rows := make([][]string, len(o.Stages))
	for i, v := range o.Stages {
		notes := []string{v.Summary}
		if v.Problems > 0 {
			notes = append(notes, textfmt.Count(v.Problems, "contract violation"))
		}
		if v.Stale != "" {
			notes = append(notes, "stale: "+v.Stale)
		}
		rows[i] = []string{v.Stage, v.Outcome, strconv.Itoa(v.Attempts), v.Path,
			strings.TrimPrefix(strings.Join(notes, ", "), ", ")}
	}
	fmt.Fprintf(a.Out, "%-6s  %s\n%-6s  %s\n", "issue", o.Issue, "folder", o.Folder)
	if err := table.Print(StageColumns, rows); err != nil {
		return err
	}
	for _, n := range o.Notices {
		fmt.Fprintf(a.Out, "%s  %s\n", n.Severity, textfmt.OneLine(n.Text))
	}
	(&app{a}).step(o.Next)
	(&app{a}).warnOutdated(o.Issue, o.Next.Outdated)
	return nil
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
