package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func validateCommand(a *app) *cobra.Command {
	var stage, issue string
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Validate artifacts against their schemas",
		Long: `Validate checks the types, values and structure of artifacts and prints every
problem with its JSON pointer. Unknown keys are warnings. The name of a file
determines its stage, unless --stage is given. With - the artifact is read from
standard input. A file with the name handoff.pipeline.yaml is validated as a
definition of pipelines, and lessons.yaml as the lessons of all runs.

The pipeline is that of the run in whose folder the file is, or that of --issue;
without a run, that of a new one.

The exit code is 1 if a file is invalid.`,
		Example: "  handoff pipeline validate .pipeline/42/*.json\n  handoff pipeline validate - --stage plan --issue 42 " +
			"< /tmp/plan.json",
		Args: cobra.ArbitraryArgs,
	}
	c.Flags().StringVar(&stage, "stage", "", "validate against the contract of this `stage`")
	c.Flags().StringVar(&issue, "issue", "", "`issue` whose run has the stage")
	c.RegisterFlagCompletionFunc("issue", a.complete)
	c.RegisterFlagCompletionFunc("stage", a.completeStage)
	cli.Answers(a.App, c, cli.Prints(pipelines.ValidationList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		o := pipelines.ValidateOptions{Files: args, Stage: stage, Stdin: a.In}
		return a.reading(func(p pipelines.Runs) error {
			if len(args) == 0 {
				return cli.Invalid("pipeline validate", "", "requires at least one file", "name a file, or - for standard input")
			}
			list, err := p.Contracts(issue).Validate(c.Context(), o)
			if err != nil {
				return err
			}
			return a.answer(list.Valid, list, func() { a.validations(list.Files) })
		})
	}
	return c
}

func (a *app) validations(list []pipeline.Validation) {
	for _, v := range list {
		for _, p := range v.Errors {
			fmt.Fprintf(a.Out, "%s: %s\n", textfmt.OneLine(v.File), textfmt.OneLine(p.String()))
		}
		for _, p := range v.Warnings {
			a.Warn("%s: %s", v.File, p)
		}
		if v.Valid {
			fmt.Fprintf(a.Out, "%s: ok\n", textfmt.OneLine(v.File))
		}
	}
}
