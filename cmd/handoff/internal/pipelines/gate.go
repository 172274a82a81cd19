package pipelines

import (
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func gateCommand(d *desk) *cobra.Command {
	var base string
	c := &cobra.Command{
		Use:   "gate ISSUE STAGE",
		Short: "Whether a stage may be built upon",
		Long: `Gate holds a stage's artifact against its contract, against itself, and against
what came before it. For implement and git it also holds what changed in the git
repository against the plan: commits since the base, what is staged, what is
not, and files that git doesn't know.

It only answers. Exit code 1 says that the gate does not hold.`,
		Example: "  handoff pipeline gate 42 plan\n  handoff pipeline gate 42 implement --base origin/main",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.Flags().StringVar(&base, "base", "", "the `commit` from which changes count (default: where HEAD parted from the main branch)")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.run(c.Context(), args[0], func(w *workspace.Workspace, p *contract.Pipeline, s pipeline.State) error {
			stage, err := p.Stage(args[1])
			if err != nil {
				return err
			}
			var scope *pipeline.Scope
			if stage.Name == "implement" || stage.Name == "git" {
				changes, err := pipeline.Changes(c.Context(), pipeline.RunGit, w.Root, base)
				if err != nil {
					return err
				}
				scope = &changes
			} else if base != "" {
				return cli.Invalid("gate", stage.Name, "--base is for the stages implement and git", "leave it out")
			}
			v := pipeline.Gate(p, stage.Name, s, scope)
			return d.answer(v.Pass, v, func() { d.lines(v.String()) })
		})
	}
	return c
}
