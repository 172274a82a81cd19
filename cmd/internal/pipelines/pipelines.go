// Package pipelines contains the pipeline commands of the command line.
package pipelines

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{cli.NewCommand(pipelineCommand, "pipeline")}

// subcommands are the subcommands of handoff pipeline, one file each.
var subcommands = []func(*app) *cobra.Command{
	listCommand, initCommand, putCommand, adoptCommand, getCommand, schemaCommand, validateCommand,
	gateCommand, nextCommand, startCommand, archiveCommand, unarchiveCommand,
}

// An app is the command line with the helpers of this package.
type app struct{ *cli.App }

func pipelineCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "pipeline COMMAND",
		Short: "Run a staged pipeline with validated artifacts",
		Long: `A pipeline leads from an issue to a merge in stages: plan, implement, test,
debug, review, git. Each stage has one writer, which submits one JSON artifact
with put. Artifacts are validated, and every attempt can be read later. Next
shows which agent acts next.

A run is the folder .pipeline/ISSUE with one file per stage. Files that other
tools write there are used as well.

A project changes stages and their schemas in handoff.pipeline.yaml; see
docs/pipeline.md.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline put 42 plan /tmp/plan.json --as jg-subplanner",
		RunE:    group,
	}
	c.PersistentFlags().BoolVar(&a.AsJSON, "json", false, "print JSON")
	for _, command := range subcommands {
		sub := command(&app{a})
		if strings.Contains(sub.Use, " ISSUE") {
			sub.ValidArgsFunction = (&app{a}).complete
		}
		c.AddCommand(sub)
	}
	return c
}

// complete completes an issue, then a stage, then files.
func (a *app) complete(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 || len(args) == 1 && !strings.Contains(c.Use, "STAGE") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if len(args) > 0 {
		return a.stages(args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	var issues []string
	_ = a.reading(func(p pipelines.Runs) (err error) { // on an error nothing is completed
		issues, err = p.Issues()
		return err
	})
	return issues, cobra.ShellCompDirectiveNoFileComp
}

// stages returns the stages for completion.
func (a *app) stages(run string) []string {
	return a.eachStage(run, func(s pipeline.Stage) string { return s.Name + "\t" + s.Purpose })
}

// completeStage completes a flag with the stages.
func (a *app) completeStage(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.stages(""), cobra.ShellCompDirectiveNoFileComp
}

// completeAgent completes a flag with the agents that write artifacts.
func (a *app) completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	run := ""
	if len(args) > 0 {
		run = args[0]
	}
	return a.eachStage(run, func(s pipeline.Stage) string {
		return s.By + "\t" + s.Name
	}), cobra.ShellCompDirectiveNoFileComp
}

// eachStage returns a word for each stage of the pipeline of a run.
func (a *app) eachStage(run string, word func(pipeline.Stage) string) (words []string) {
	_ = a.reading(func(p pipelines.Runs) error { // on an error nothing is completed
		stages, err := p.Stages(run)
		for _, s := range stages {
			words = append(words, word(s))
		}
		return err
	})
	return words
}

// group is the action of a command that only has subcommands.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 && c.Flags().Changed("json") {
		return cli.Invalid(strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), "", "--json requires a command",
			"see "+c.CommandPath()+" --help")
	}
	return cli.Group(c, args)
}

// reading runs do with the pipelines of the workspace.
func (a *app) reading(do func(pipelines.Runs) error) error {
	return a.Reading(func(w *workspace.Workspace) error { return do(w.Pipelines()) })
}

// print prints a result, as JSON or with do.
func (a *app) print(v any, do func()) error {
	if a.AsJSON {
		return a.JSON(v)
	}
	do()
	return nil
}

// answer is print for a check, which may have failed.
func (a *app) answer(ok bool, v any, do func()) error {
	if err := a.print(v, do); err != nil || ok {
		return err
	}
	return cli.ErrNo
}

// list prints an answer with a list, as JSON or as a table.
func (a *app) list(name string, answer any, table *cli.Table, columns []cli.Column, rows [][]string) error {
	if a.AsJSON {
		return a.JSONList(name, answer)
	}
	return table.Print(columns, rows)
}

// lines prints lines that may contain text of artifacts.
func (a *app) lines(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(a.Out, textfmt.OneLine(strings.TrimSuffix(line, "\n")))
	}
}
