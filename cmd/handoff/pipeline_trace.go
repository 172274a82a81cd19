package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/contract"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/spf13/cobra"
)

func pipelineTraceCommand(a *app) *cobra.Command {
	var state, asJSON bool
	c := &cobra.Command{
		Use:   "trace ISSUE",
		Short: "How a run went: attempts, durations, retries",
		Long: `Trace shows the attempts of each stage in the order in which they are known to
have happened. What nobody wrote down, a duration, say, is shown as unknown.

With --state it prints the state.yaml that the artifacts make. Where the run has
one that says something else, each difference is told on standard error, and the
exit code is 1.`,
		Example: "  handoff pipeline trace 42\n  handoff pipeline trace 42 --state",
		Args:    exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&state, "state", false, "print state.yaml as the artifacts make it")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(_ *os.Root, p *contract.Pipeline, s pipeline.State) error {
			switch {
			case state:
				return a.pipelineState(p, s, asJSON)
			case asJSON:
				return a.json(pipeline.TraceOf(p, s))
			}
			a.trace(pipeline.TraceOf(p, s))
			return nil
		})
	}
	return c
}

func (a *app) trace(t pipeline.Trace) {
	var rows [][]string
	for _, s := range t.Stages {
		started, took := "unknown", "unknown"
		if s.StartedAt != nil {
			started = stamp(*s.StartedAt)
		}
		if s.DurationMS != nil {
			took = (time.Duration(*s.DurationMS) * time.Millisecond).String()
		}
		rows = append(rows, []string{s.Stage, strconv.Itoa(s.Attempt), s.Agent, s.Result, started, took, s.Artifact})
	}
	a.rows([]string{"stage", "attempt", "agent", "result", "started", "took", "artifact"}, rows)
	for _, stage := range sortedKeys(t.Retries) {
		fmt.Fprintf(a.err, "retries of %s: %d\n", stage, t.Retries[stage])
	}
	if t.TotalMS > 0 {
		fmt.Fprintf(a.err, "%s altogether\n", time.Duration(t.TotalMS)*time.Millisecond)
	}
}

func (a *app) pipelineState(p *contract.Pipeline, s pipeline.State, asJSON bool) error {
	drifts, err := pipeline.Drifts(p, s)
	if err != nil {
		return err
	}
	notes := pipeline.Derive(p, s)
	if asJSON {
		err = a.json(struct {
			pipeline.Notes
			Drift []pipeline.Drift `json:"drift"`
		}{notes, drifts})
	} else {
		var b []byte
		if b, err = notes.YAML(); err == nil {
			_, err = a.out.Write(b)
		}
	}
	for _, d := range drifts {
		a.warn("%s: %s", contract.StateFile, d)
	}
	if err == nil && len(drifts) > 0 {
		err = errNo
	}
	return err
}
