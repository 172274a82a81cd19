package pipelines

import (
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/spf13/cobra"
)

func traceCommand(d *desk) *cobra.Command {
	var state bool
	c := &cobra.Command{
		Use:   "trace ISSUE",
		Short: "Show the attempts, durations and retries of a run",
		Long: `Trace shows the attempts of each stage in their known order. The duration of an
attempt ends when it was submitted. It starts when the agent's run was opened or
when the previous attempt was submitted, whichever is later. Times that were not
recorded are shown as unknown.

With --state it prints the state.yaml that follows from the artifacts. If the
run's own state.yaml differs, each difference is printed on standard error and
the exit code is 1.`,
		Example: "  handoff pipeline trace 42\n  handoff pipeline trace 42 --state",
		Args:    cli.Exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&state, "state", false, "print the state.yaml that follows from the artifacts")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.past(c.Context(), args[0], func(p *contract.Pipeline, s pipeline.State) error {
			if state {
				return d.state(p, s)
			}
			t := pipeline.TraceOf(p, s)
			return d.print(t, func() { d.trace(t) })
		})
	}
	return c
}

func (d *desk) trace(t pipeline.Trace) {
	d.Table([]string{"stage", "attempt", "agent", "result", "started", "took", "artifact"}, t.Rows())
	for _, stage := range cli.SortedKeys(t.Retries) {
		fmt.Fprintf(d.Err, "retries of %s: %d\n", stage, t.Retries[stage])
	}
	if t.TotalMS > 0 {
		fmt.Fprintf(d.Err, "total duration: %s\n", time.Duration(t.TotalMS)*time.Millisecond)
	}
}

func (d *desk) state(p *contract.Pipeline, s pipeline.State) error {
	notes, err := pipeline.Compare(p, s)
	if err != nil {
		return err
	}
	b, err := notes.YAML()
	if err != nil {
		return err
	}
	for _, drift := range notes.Drift {
		d.Warn("%s: %s", contract.StateFile, drift)
	}
	return d.answer(len(notes.Drift) == 0, notes, func() { d.Out.Write(b) })
}
