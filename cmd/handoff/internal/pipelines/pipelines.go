// Package pipelines has the commands that submit and check the artifacts of a
// staged pipeline, and show what comes next.
package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
var Commands = []cli.Command{cli.NewPrimary(pipelineCommand, "pipeline")}

// subcommands are those of handoff pipeline, one file each.
var subcommands = []func(*desk) *cobra.Command{
	initCommand, putCommand, getCommand, validateCommand, gateCommand, nextCommand,
	historyCommand, briefCommand, traceCommand, archiveCommand, unarchiveCommand, lessonsCommand,
}

// A desk adds what pipeline commands need to the command line.
type desk struct{ *cli.App }

func pipelineCommand(app *cli.App) *cobra.Command {
	d := &desk{app}
	c := &cobra.Command{
		Use:     "pipeline",
		Short:   "Run a staged pipeline with validated artifacts",
		GroupID: cli.Pipelines,
		Long: `A pipeline takes an issue to a merge in stages: plan, implement, test, debug,
review, git. A run is a folder, .pipeline/ISSUE, with one JSON file for each
stage. Artifacts submitted with put are also recorded, and every attempt stays
readable. Folders written by other tools can be read as they are.

A project can change the stages and their schemas in .handoff/pipelines/*.yaml;
see docs/pipeline.md.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline put 42 plan plan.json --as jg-subplanner",
		RunE:    group,
	}
	c.PersistentFlags().BoolVar(&d.AsJSON, "json", false, "print JSON")
	for _, command := range subcommands {
		sub := command(d)
		if strings.Contains(sub.Use, " ISSUE") {
			sub.ValidArgsFunction = d.complete
		}
		c.AddCommand(sub)
	}
	return c
}

// complete completes an issue that has a run, then a stage, then a file.
func (d *desk) complete(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 || len(args) == 1 && !strings.Contains(c.Use, "STAGE") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var words []string
	_ = d.book(func(_ *workspace.Workspace, b *pipeline.Runs) error { // an error means no completions
		if len(args) == 1 {
			for _, stage := range b.Pipeline.Stages {
				words = append(words, stage.Name+"\t"+stage.Purpose)
			}
			return nil
		}
		entries, err := fs.ReadDir(b.Files.FS(), pipeline.Folder)
		for _, e := range entries {
			if e.IsDir() && contract.CheckIssue(e.Name()) == nil {
				words = append(words, e.Name())
			}
		}
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// group runs a command that only has subcommands.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return cli.UnknownCommand(c, args[0])
}

// print prints an answer as JSON, or calls do to print it for people.
func (d *desk) print(v any, do func()) error {
	if d.AsJSON {
		return d.JSON(v)
	}
	do()
	return nil
}

// answer is print for a command that can have a negative result.
func (d *desk) answer(yes bool, v any, do func()) error {
	if err := d.print(v, do); err != nil || yes {
		return err
	}
	return cli.ErrNo
}

// lines prints text that can contain control characters.
func (d *desk) lines(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(d.Out, cli.OneLine(strings.TrimSuffix(line, "\n")))
	}
}

// open makes the book of a workspace's runs, which lie in its main worktree,
// and whose records say that p made them.
func open(w *workspace.Workspace, p handoff.Producer, do func(*pipeline.Runs) error) error {
	stages, err := contract.Load(os.DirFS(filepath.Join(w.Runtime, "pipelines")))
	if err != nil {
		return err
	}
	files, err := os.OpenRoot(home(w))
	if err != nil {
		return &handoff.Error{Op: "open workspace", Name: w.Root, Kind: handoff.Unavailable, Err: err}
	}
	defer files.Close()
	return do(&pipeline.Runs{Hub: w.Hub.As(p), Files: files, Pipeline: stages})
}

// home is the directory that .pipeline lies in: a linked worktree's runs are
// those of the main one, so that recycling it loses nothing.
func home(w *workspace.Workspace) string { return cmp.Or(w.Worktree(""), w.Root) }

// base is what paths below home begin with for someone who works in w.
func base(w *workspace.Workspace) string {
	if dir := home(w); dir != w.Root {
		return filepath.ToSlash(dir)
	}
	return ""
}

// book runs do with the workspace's runs, for reading.
func (d *desk) book(do func(*workspace.Workspace, *pipeline.Runs) error) error {
	return d.Reading(func(w *workspace.Workspace) error {
		return open(w, handoff.Producer{}, func(b *pipeline.Runs) error { return do(w, b) })
	})
}

// writing is book for a command that records.
func (d *desk) writing(p handoff.Producer, do func(*workspace.Workspace, *pipeline.Runs) error) error {
	return d.WritingTidy(func(w *workspace.Workspace) error {
		return open(w, p, func(b *pipeline.Runs) error { return do(w, b) })
	})
}

// run reads a run as it is now.
func (d *desk) run(ctx context.Context, issue string, do func(*workspace.Workspace, *contract.Pipeline, pipeline.State) error) error {
	return d.book(func(w *workspace.Workspace, b *pipeline.Runs) error {
		s, err := b.Read(ctx, issue)
		if err != nil {
			return err
		}
		s.Base = base(w)
		return do(w, b.Pipeline, s)
	})
}

// past is run for what may be archived.
func (d *desk) past(ctx context.Context, issue string, do func(*contract.Pipeline, pipeline.State) error) error {
	return d.book(func(w *workspace.Workspace, b *pipeline.Runs) error {
		s, err := b.Find(ctx, issue)
		if err != nil {
			return err
		}
		s.Base = base(w)
		return do(b.Pipeline, s)
	})
}
