package pipelines

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func drawCommand(a *app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "draw [ISSUE]",
		Short: "Print the definition of a pipeline as a Mermaid flowchart",
		Long: `Draw prints the definition of the pipeline of a run as a Mermaid flowchart.
Without an issue it is the pipeline of a new run, or the one that --pipeline
names. Dotted arrows are outcomes that lead to another stage than the next one;
a dashed box is a stage that a run can go on without.`,
		Example: "  handoff pipeline draw 42\n  handoff pipeline draw --pipeline release > release.mmd",
		Args:    cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&name, "pipeline", "", "`name` of a pipeline in handoff.pipeline.yaml, or jg")
	c.ValidArgsFunction = a.complete
	cli.Answers(a.App, c, cli.Prints(pipelines.Drawing{}))
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && name != "" {
			return cli.Invalid("pipeline draw", args[0], "an issue and --pipeline are mutually exclusive",
				"leave one of them out")
		}
		return a.reading(func(p pipelines.Runs) error {
			d, err := p.Contracts(strings.Join(args, "")).Draw(name)
			if err != nil {
				return err
			}
			return a.print(d, func() { fmt.Fprint(a.Out, d.Mermaid) })
		})
	}
	return c
}
