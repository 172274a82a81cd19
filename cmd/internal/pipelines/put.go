package pipelines

import (
	"context"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/report"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func putCommand(a *app) *cobra.Command {
	var agent, ticket, outcome string
	var from []string
	var lenient bool
	c := &cobra.Command{
		Use:   "put ISSUE STAGE FILE|-",
		Short: "Submit a stage's artifact",
		Long: `Put validates an artifact, records it as the newest attempt of its stage, writes
it to .pipeline/ISSUE and prints the path. With - the artifact is read from
standard input. Earlier attempts can be read with handoff read --rev.

The agent in --as or HANDOFF_AGENT must be the writer of the stage, and so must
produced_by in the artifact, if it is set. The record contains what the artifact
was made from: what the ticket of handoff pipeline next names, or the
artifacts in --from. Without either, it is what handoff pipeline start gave the
caller. Otherwise it is assumed to be made from what its writer reads, in its
current state, and show marks that. Work on the stage that the caller started
ends.

The same artifact made from the same inputs adds no attempt, unless handoff
pipeline next asks for it.

A stage with a pattern takes a directory, or one file of it. Keep FILE outside
the repository: the gates report it as a change.

The stage state is the planner's state.yaml. It is recorded as it is.

An invalid artifact changes nothing; every problem is printed, with its JSON
pointer. With --lenient it is recorded, and each problem is a warning, also of
gates.`,
		Example: "  handoff pipeline put 42 plan /tmp/plan.json --as jg-subplanner\n  run-tests --json | handoff pipeline " +
			"put 42 test - --as jg-tester",
		Args: cli.Exactly(3, "an issue, a stage and a file"),
	}
	c.Flags().StringVar(&ticket, "ticket", "", "`ticket` of next: record the inputs that it names")
	c.Flags().StringVar(&agent, "as", "", "agent `name` (default: HANDOFF_AGENT)")
	c.Flags().StringVar(&outcome, "outcome", "", "`verdict` on an artifact that is not JSON, such as FAIL")
	c.Flags().BoolVar(&lenient, "lenient", false, "record an artifact that violates its contract, with warnings")
	c.Flags().StringArrayVar(&from, "from", nil,
		"`ref` of an artifact that it was made from; may be repeated (default: what its writer reads)")
	c.RegisterFlagCompletionFunc("from", complete.Refs(a.App))
	c.RegisterFlagCompletionFunc("as", a.completeAgent)
	cli.Answers(a.App, c, cli.Prints(handoff.Published{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		sub := pipelines.Submission{Issue: args[0], Stage: args[1], Path: args[2], From: from, Lenient: lenient,
			Ticket: ticket, Outcome: outcome}
		if sub.Path == "-" {
			sub.Body, sub.Path = a.In, ""
		}
		return a.Writing(func(w *workspace.Workspace) error {
			return a.put(c.Context(), w.As(workspace.CallerFrom(a.Dir, a.Getenv, handoff.Producer{Agent: agent})), sub)
		})
	}
	return c
}

func (a *app) put(ctx context.Context, w *workspace.Workspace, sub pipelines.Submission) error {
	done, err := w.Pipelines().Put(ctx, sub)
	if err != nil {
		return err
	}
	for _, p := range done.Report.Warnings {
		a.Warn("%s: %s", sub.Path, p)
	}
	report.Revision(a.App, done.Published, done.File, done.SavedEdits)
	return a.Published(done.Published, done.File)
}
