package pipelines

import (
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func schemaCommand(a *app) *cobra.Command {
	var example bool
	var issue string
	c := &cobra.Command{
		Use:   "schema [STAGE]",
		Short: "Print the JSON Schema of a stage's artifact, or an example",
		Long: `Schema prints the JSON Schema of the artifact of a stage, with all that it
refers to. With --example it prints an artifact that is valid. A stage of the
project takes its example from the examples of its schema.

The pipeline is that of the run of --issue; without it, that of a new run.
Without a stage it prints the schema of handoff.pipeline.yaml.`,
		Example: "  handoff pipeline schema plan\n  handoff pipeline schema plan --example > /tmp/plan.json",
		Args:    cobra.MaximumNArgs(1),
	}
	c.Flags().BoolVar(&example, "example", false, "print an example instead")
	c.Flags().StringVar(&issue, "issue", "", "`issue` whose run has the stage")
	c.RegisterFlagCompletionFunc("issue", a.complete)
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.stages(issue), cobra.ShellCompDirectiveNoFileComp
	}
	cli.Answers(a.App, c, cli.Prints(nil))
	c.RunE = func(c *cobra.Command, args []string) error {
		stage := strings.Join(args, "")
		if stage == "" && example {
			return cli.Invalid("pipeline schema", "", "requires a stage for an example", "name a stage")
		}
		return a.reading(func(p pipelines.Runs) error {
			var doc any
			var err error
			if contracts := p.Contracts(issue); example {
				doc, err = contracts.Example(stage)
			} else {
				doc, err = contracts.Schema(stage)
			}
			if err != nil {
				return err
			}
			return a.JSON(doc)
		})
	}
	return c
}
