package pipelines

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func traceCommand(a *app) *cobra.Command {
	var state bool
	c := &cobra.Command{
		Use:   "trace ISSUE",
		Short: "Show durations and retries",
		Long: `Trace lists the attempts of a run in their order, with durations. An attempt
starts when the run or session of its agent is opened or when the previous
attempt is submitted, whichever is later, and ends when it is submitted. Unknown
times are shown as unknown.

With --state it prints the state.yaml that follows from the artifacts. If the
run has a state.yaml that differs, each difference is printed to standard error
and the exit code is 1.`,
		Example: "  handoff pipeline trace 42\n  handoff pipeline trace 42 --state",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&state, "state", false, "print state.yaml as derived from the artifacts")
	table := a.NewTable(c, traceColumns)
	cli.Answers(a.App, c, cli.Prints(pipeline.Trace{}), cli.PrintsWith("state", pipeline.Notes{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			if state {
				notes, err := p.Notes(c.Context(), args[0])
				if err != nil {
					return err
				}
				return a.notes(notes)
			}
			t, err := p.Trace(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.trace(t, table)
		})
	}
	return c
}

var traceColumns = []cli.Column{
	{Name: "stage"}, {Name: "attempt"}, {Name: "agent", Rank: 2}, {Name: "result"}, {Name: "started", Rank: 4},
	{Name: "duration", Rank: 1}, {Name: "artifact", Rank: 3},
}

func (a *app) trace(t pipeline.Trace, table *cli.Table) error {
	var rows [][]string
	for _, s := range t.Stages {
		started, took := "unknown", "unknown"
		if s.StartedAt != nil {
			started = s.StartedAt.Format(time.RFC3339)
		}
		if s.DurationMS != nil {
			took = milliseconds(*s.DurationMS)
		}
		rows = append(rows, []string{s.Stage, strconv.Itoa(s.Attempt), s.Agent, s.Result, started, took, s.Artifact})
	}
	if err := a.list("stages", t, table, traceColumns, rows); err != nil || a.AsJSON {
		return err
	}
	for _, stage := range textfmt.SortedKeys(t.Retries) {
		fmt.Fprintf(a.Err, "retries of %s: %d\n", stage, t.Retries[stage])
	}
	if t.TotalMS > 0 {
		fmt.Fprintf(a.Err, "total duration: %s\n", milliseconds(t.TotalMS))
	}
	return nil
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

func (a *app) notes(n pipeline.Notes) error {
	b, err := n.YAML()
	if err != nil {
		return err
	}
	for _, d := range n.Drift {
		a.Warn("state.yaml: %s", d)
	}
	return a.answer(len(n.Drift) == 0, n, func() { a.Out.Write(b) })
}
