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
		Short: "Check whether a stage is ready to build on",
		Long: `Gate validates a stage's artifact against its contract, and checks that it is
consistent in itself and with the earlier stages. For implement and git it also
compares the changes in the git repository with the plan: commits since the
base, staged and unstaged changes, and untracked files.

Gate changes nothing. Exit code 1: the stage is not ready.`,
		Example: "  handoff pipeline gate 42 plan\n  handoff pipeline gate 42 implement --base origin/main",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.Flags().StringVar(&base, "base", "", "`commit` that changes are compared with (default: the merge base with the main branch)")
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
