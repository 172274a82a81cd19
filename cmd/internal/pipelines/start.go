package pipelines

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/runs"
	"github.com/spf13/cobra"
)

func startCommand(a *app) *cobra.Command {
	var agent string
	var again bool
	c := &cobra.Command{
		Use:   "start ISSUE STAGE",
		Short: "Record that an agent works on a stage, and what it was given",
		Long: `Start records that the caller works on the next attempt of a stage, with the
ticket that handoff pipeline next prints, and prints the step, with the work as
the last line. When the same run, session or thread submits the stage with put,
or the same agent where these are not known, the inputs of the ticket are
recorded, and the work ends.

Start is refused if work with the same ticket was started less than 30 minutes
ago, has not ended, and its process is not known to be gone; --again starts it
as well. handoff pipeline next shows such work. A warning reports that the stage
is not the next one.`,
		Example: "  handoff pipeline start 42 review --as jg-reviewer",
		Args:    cli.Exactly(2, "an issue and a stage"),
	}
	c.Flags().StringVar(&agent, "as", "", "agent `name` (default: HANDOFF_AGENT)")
	c.Flags().BoolVar(&again, "again", false, "start it also if its work is open")
	c.RegisterFlagCompletionFunc("as", a.completeAgent)
	cli.Answers(a.App, c, cli.Prints(pipeline.Step{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Writing(func(w *workspace.Workspace) error {
			w = w.As(workspace.CallerFrom(a.Dir, a.Getenv, handoff.Producer{Agent: agent}))
			step, err := w.Pipelines().Start(c.Context(), args[0], args[1], pipelines.StartOptions{Again: again,
				Process: runs.HarnessProcess(w.Caller().Producer.Harness, a.Getenv)})
			if err != nil {
				return err
			}
			a.Warnings(step.Warnings)
			a.warnOutdated(args[0], step.Outdated)
			return a.print(step, func() { a.step(step) })
		})
	}
	return c
}
