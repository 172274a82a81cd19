package pipelines

import (
	"context"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/pipeline"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func adoptCommand(a *app) *cobra.Command {
	var dryRun, watch, define bool
	c := &cobra.Command{
		Use:   "adopt ISSUE|DIR",
		Short: "Record the files of a run, or those of another tool, as they are",
		Long: `Adopt records the artifacts in the folder of a run as they are and prints their
paths: those without a record, and those that violate their contract. From then
on, what they violate is a warning, so that a run of another tool continues from
its state. The files are not changed.

The order of attempts is that of pipeline-trace.json, if the run has one, and
otherwise that of the stages.

A directory is that of another tool, with a folder for each run: openspec
(OpenSpec), specs (spec-kit), .kiro (Kiro), or the folder of a pipeline in
handoff.pipeline.yaml. Nothing is moved. With --watch it goes on until it is
interrupted; with --define it writes handoff.pipeline.yaml.`,
		Example: "  handoff pipeline adopt 42\n  handoff pipeline adopt openspec/ --watch",
		Args:    cli.Exactly(1, "one issue or directory"),
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be recorded, and record nothing")
	c.Flags().BoolVar(&watch, "watch", false, "look for new files of a directory until interrupted")
	c.Flags().BoolVar(&define, "define", false, "write the definition of the tool to handoff.pipeline.yaml")
	c.MarkFlagsMutuallyExclusive("watch", "dry-run")
	c.MarkFlagsMutuallyExclusive("define", "dry-run")
	cli.Answers(a.App, c, cli.Prints(pipeline.Adoption{}), cli.Prints(pipeline.AdoptionList{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		run := a.Writing
		if dryRun {
			run = a.Reading
		}
		return run(func(w *workspace.Workspace) error {
			if pipelines.IsFolder(w.Pipelines(), args[0]) {
				return a.adoptAt(c.Context(), w, args[0], watch, pipelines.AdoptOptions{DryRun: dryRun, Define: define})
			}
			if watch || define {
				return cli.Invalid("pipeline adopt", args[0], "--watch and --define require a directory",
					"name the directory of another tool")
			}
			done, err := w.Pipelines().Adopt(c.Context(), args[0], dryRun)
			if err != nil {
				return err
			}
			a.adoptionProblems(done)
			return a.print(done, func() { a.adopted(done) })
		})
	}
	return c
}

func (a *app) adoptionProblems(done pipeline.Adoption) {
	for _, s := range done.Adopted {
		for _, p := range s.Problems {
			a.Warn("%s: %s", s.Path, p)
		}
	}
	a.Warnings(done.Warnings)
}

func (a *app) adopted(done pipeline.Adoption) {
	for _, s := range done.Adopted {
		fmt.Fprintln(a.Out, textfmt.OneLine(s.Path))
	}
}

// watchEvery is the time between two looks at a directory.
const watchEvery = time.Second

// adoptAt adopts the runs in a directory, with watch until it is interrupted.
func (a *app) adoptAt(ctx context.Context, w *workspace.Workspace, dir string, watch bool,
	o pipelines.AdoptOptions) error {
	for first := true; ; first = false {
		list, err := pipelines.AdoptAt(ctx, w.Pipelines(), dir, o)
		if err != nil {
			return err
		}
		o.Define = false
		found := 0
		for _, done := range list.Runs {
			if first || len(done.Adopted) > 0 {
				a.adoptionProblems(done)
			}
			found += len(done.Adopted)
		}
		if first || found > 0 {
			err = a.print(list, func() {
				for _, done := range list.Runs {
					a.adopted(done)
				}
			})
		}
		if err != nil || !watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}
