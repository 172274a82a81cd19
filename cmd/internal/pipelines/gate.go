package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func gateCommand(a *app) *cobra.Command {
	var base string
	c := &cobra.Command{
		Use:   "gate ISSUE STAGE",
		Short: "Check whether a stage is ready to build on",
		Long: `Gate validates the artifact of a stage and checks that it is consistent with
itself and with earlier artifacts. For implement and git it also compares the
plan with the files that changed in the git repository: committed since the
base, staged, unstaged and untracked. For git it looks up the branch and the
commit. What handoff itself writes is not a change.

Gate changes nothing. The exit code is 1 if there are errors or if the verdict
of the artifact is FAIL, which is printed with what comes next.`,
		Example: "  handoff pipeline gate 42 plan\n  handoff pipeline gate 42 implement --base origin/main",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.Flags().StringVar(&base, "base", "", "compare with this `commit` (default: the merge base with the main branch)")
	cli.Answers(a.App, c, cli.Prints(pipeline.Gate{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			g, err := p.Gate(c.Context(), args[0], args[1], base)
			if err != nil {
				return err
			}
			return a.answer(g.Pass, g, func() { a.lines(g.String()) })
		})
	}
	return c
}
