package pipelines

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func getCommand(a *app) *cobra.Command {
	var restore bool
	c := &cobra.Command{
		Use:   "get ISSUE STAGE",
		Short: "Print the path of a stage's artifact",
		Long: `Get prints the path of a stage's artifact, relative to the workspace. The exit
code is 3 if the stage has not been done.

With --restore it first writes the newest attempt to the file, if that is
missing or has the content of an earlier attempt. An edit that is not recorded
is a conflict.`,
		Example: "  handoff pipeline get 42 plan",
		Args:    cli.Exactly(2, "one issue and one stage"),
	}
	c.Flags().BoolVar(&restore, "restore", false, "write the newest attempt to the file first")
	cli.Answers(a.App, c, cli.Prints(pipeline.File{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.reading(func(p pipelines.Runs) error {
			get := p.Get
			if restore {
				get = p.RestoreStage
			}
			f, err := get(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			report.Notices(a.App, f.Notices)
			return a.print(f, func() { fmt.Fprintln(a.Out, textfmt.OneLine(f.Path)) })
		})
	}
	return c
}
