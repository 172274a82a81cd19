package pipelines

import (
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func historyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "history ISSUE",
		Short: "List every attempt and what it was made from",
		Long: `History lists the attempts of a run, oldest first: the stage, the number of the
attempt, the agent, the outcome, the attempts it was made from, when it was
submitted, and the ref and revision to read it with. Its inputs are assumed if
it was submitted without --ticket and --from. A file without a record
is listed with its path. ISSUE can be the name of an archived run, such as
completed/42. If the folder of the run was removed, the attempts come from the
records.`,
		Example: "  handoff pipeline history 42\n  handoff read 42/test-result.json --rev 1",
		Args:    cli.Exactly(1, "one issue"),
	}
	table := a.NewTable(c, attemptColumns)
	cli.Answers(a.App, c, cli.Prints(pipeline.History{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			h, err := p.History(c.Context(), args[0])
			if err != nil {
				return err
			}
			for _, warning := range h.Warnings {
				a.Warn("%s; %s", warning, cli.HintText(handoff.Suggest("write its files again", handoff.ActionRestoreRun, h.Issue)))
			}
			a.warnOutdated(h.Issue, h.Outdated)
			return a.list("attempts", h, table, attemptColumns, a.attempts(h.Attempts))
		})
	}
	return c
}

var attemptColumns = []cli.Column{
	{Name: "stage"}, {Name: "attempt"}, {Name: "agent", Rank: 3}, {Name: "outcome"}, {Name: "from", Rank: 4},
	{Name: "submitted", Rank: 5}, {Name: "ref", Rank: 1, Long: true}, {Name: "rev", Rank: 2}, {Name: "inputs", Rank: 6},
}

func (a *app) attempts(list []pipeline.Attempt) [][]string {
	rows := make([][]string, len(list))
	for i, e := range list {
		at, rev := "unknown", ""
		if !e.At.IsZero() {
			at = e.At.Format(time.RFC3339)
		}
		if e.Rev > 0 {
			rev = strconv.Itoa(e.Rev)
		}
		if e.Ref == "" {
			e.Ref = e.Path
		}
		inputs := ""
		if e.Assumed {
			inputs = "assumed"
		}
		rows[i] = []string{e.Stage, strconv.Itoa(e.Attempt), e.Agent, e.Outcome, strings.Join(e.Read, " "), at,
			e.Ref, rev, inputs}
	}
	return rows
}
