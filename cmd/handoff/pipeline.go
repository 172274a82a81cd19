package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/contract"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/spf13/cobra"
)

func pipelineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "pipeline",
		Short:   "Stages with contracts, gates that hold, and what comes next",
		GroupID: pipes,
		Long: `A pipeline leads from an issue to a merge in stages: plan, implement, test,
debug, review, git. A run is a folder, .pipeline/ISSUE, with one JSON file a
stage. Folders that other tools wrote are read as they are.

A project changes stages and their schemas in .handoff/pipelines/*.yaml;
docs/pipeline.md shows how.`,
		Example: "  handoff pipeline init 42\n  handoff pipeline next 42",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return invalid("pipeline", args[0], "no such command", "handoff pipeline --help lists the commands")
		},
	}
	c.AddCommand(pipelineInitCommand(a), pipelineValidateCommand(a), pipelineGateCommand(a),
		pipelineNextCommand(a), pipelineTraceCommand(a), lessonsCommand(a))
	return c
}

// pipelineOf opens the workspace's files and loads its pipeline.
func (a *app) pipelineOf(do func(*os.Root, *contract.Pipeline) error) error {
	return a.reading(func(w *local.Workspace) error {
		p, err := contract.Load(os.DirFS(filepath.Join(w.Runtime, "pipelines")))
		if err != nil {
			return err
		}
		files, err := os.OpenRoot(w.Root)
		if err != nil {
			return &handoff.Error{Op: "open workspace", Name: w.Root, Kind: handoff.Unavailable, Err: err}
		}
		defer files.Close()
		return do(files, p)
	})
}

// run of a pipeline, as it is now.
func (a *app) pipelineRun(issue string, do func(*os.Root, *contract.Pipeline, pipeline.State) error) error {
	return a.pipelineOf(func(files *os.Root, p *contract.Pipeline) error {
		s, err := pipeline.Read(files, p, issue)
		if err != nil {
			return err
		}
		return do(files, p, s)
	})
}

func pipelineInitCommand(a *app) *cobra.Command {
	var complexity string
	var asJSON bool
	c := &cobra.Command{
		Use:   "init ISSUE",
		Short: "Make a run's folder",
		Long: `Init makes .pipeline/ISSUE, and prints its path. A folder that is there already
stays as it is. With --complexity it also begins state.yaml: a trivial issue
needs no plan.`,
		Example: "  handoff pipeline init 42\n  handoff pipeline init PROJ-7 --complexity trivial",
		Args:    exactly(1, "one issue"),
	}
	c.Flags().StringVar(&complexity, "complexity", "", "how large the issue is: trivial, standard or complex")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RegisterFlagCompletionFunc("complexity", cobra.FixedCompletions([]string{"trivial", "standard", "complex"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineOf(func(files *os.Root, _ *contract.Pipeline) error {
			path, err := pipeline.Init(files, args[0], complexity)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(map[string]string{"issue": args[0], "path": path})
			}
			fmt.Fprintln(a.out, path)
			return nil
		})
	}
	return c
}

func pipelineGateCommand(a *app) *cobra.Command {
	var base string
	var asJSON bool
	c := &cobra.Command{
		Use:   "gate ISSUE STAGE",
		Short: "Whether a stage may be built upon",
		Long: `Gate holds a stage's artifact against its contract, against itself, and against
what came before it. For implement and git it also holds what changed in the git
repository against the plan: commits since the base, what is staged, what is
not, and files that git doesn't know.

It only answers. Exit code 1 says that the gate does not hold.`,
		Example: "  handoff pipeline gate 42 plan\n  handoff pipeline gate 42 implement --base origin/main",
		Args:    exactly(2, "one issue and one stage"),
	}
	c.Flags().StringVar(&base, "base", "", "the `commit` from which changes count (default: where HEAD parted from the main branch)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"plan", "implement", "test", "review", "git"}, cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(files *os.Root, p *contract.Pipeline, s pipeline.State) error {
			stage, err := p.Stage(args[1])
			if err != nil {
				return err
			}
			var scope *pipeline.Scope
			if stage.Name == "implement" || stage.Name == "git" {
				changes, err := pipeline.Changes(c.Context(), pipeline.RunGit, files.Name(), base)
				if err != nil {
					return err
				}
				scope = &changes
			} else if base != "" {
				return invalid("gate", stage.Name, "--base is for the stages implement and git", "leave it out")
			}
			v := pipeline.Gate(p, stage.Name, s, scope)
			if asJSON {
				err = a.json(struct {
					pipeline.Verdict
					Pass  bool            `json:"pass"`
					Scope *pipeline.Scope `json:"scope,omitempty"`
				}{v, v.Pass(), scope})
			} else {
				a.lines(v.String())
			}
			if err == nil && !v.Pass() {
				err = errNo
			}
			return err
		})
	}
	return c
}

// lines prints lines that may hold text from outside.
func (a *app) lines(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(a.out, oneLine(strings.TrimSuffix(line, "\n")))
	}
}

func pipelineNextCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "next ISSUE",
		Short: "Which agent acts next, from what, and why",
		Long: `Next reads a run's artifacts and says what comes next: the agent, the files it
reads, the file it writes, and the reason. It looks at what artifacts say and at
the order in which they are known to have been written, never at file times.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline next 42 --json",
		Args:    exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(_ *os.Root, p *contract.Pipeline, s pipeline.State) error {
			step := pipeline.Next(p, s)
			if asJSON {
				return a.json(step)
			}
			agent := step.Agent
			if step.Done {
				agent = "nobody: the run is done"
			}
			for _, line := range [][2]string{
				{"agent", agent}, {"stage", step.Stage}, {"tier", step.Tier}, {"reads", strings.Join(step.Reads, " ")},
				{"writes", step.Writes}, {"why", step.Reason}, {"note", strings.Join(step.Notes, "; ")},
			} {
				if line[1] != "" {
					fmt.Fprintf(a.out, "%-6s  %s\n", line[0], oneLine(line[1]))
				}
			}
			return nil
		})
	}
	return c
}
