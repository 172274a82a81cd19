package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/contract"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/spf13/cobra"
)

// A pipelines is the command line as the commands of pipelines see it.
type pipelines struct {
	*app
	asJSON bool   // --json, which all of them have
	root   string // of the workspace, once it is open
}

// print prints an answer, as JSON or else as do prints it.
func (a *pipelines) print(v any, do func()) error {
	if a.asJSON {
		return a.json(v)
	}
	do()
	return nil
}

// answer is print for a question whose answer may be no.
func (a *pipelines) answer(yes bool, v any, do func()) error {
	if err := a.print(v, do); err != nil || yes {
		return err
	}
	return errNo
}

func pipelineCommand(root *app) *cobra.Command {
	a := &pipelines{app: root}
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
		RunE:    group,
	}
	c.PersistentFlags().BoolVar(&a.asJSON, "json", false, "print JSON")
	c.AddCommand(pipelineInitCommand(a), pipelineValidateCommand(a), pipelineGateCommand(a),
		pipelineNextCommand(a), pipelineTraceCommand(a), lessonsCommand(a))
	return c
}

// group is what a command does that only has others below it.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return invalid(c.Name(), args[0], "no such command", c.CommandPath()+" --help lists the commands")
}

// pipelineOf opens the workspace's files and loads its pipeline.
func (a *pipelines) pipelineOf(do func(*os.Root, *contract.Pipeline) error) error {
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

// pipelineRun reads a run as it is now.
func (a *pipelines) pipelineRun(issue string, do func(*contract.Pipeline, pipeline.State) error) error {
	return a.pipelineOf(func(files *os.Root, p *contract.Pipeline) error {
		s, err := pipeline.Read(files, p, issue)
		if err != nil {
			return err
		}
		a.root = files.Name()
		return do(p, s)
	})
}

func pipelineInitCommand(a *pipelines) *cobra.Command {
	var complexity string
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
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineOf(func(files *os.Root, _ *contract.Pipeline) error {
			path, err := pipeline.Init(files, args[0], complexity)
			if err != nil {
				return err
			}
			return a.print(map[string]string{"issue": args[0], "path": path}, func() { fmt.Fprintln(a.out, path) })
		})
	}
	return c
}

func pipelineGateCommand(a *pipelines) *cobra.Command {
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
		Args:    exactly(2, "one issue and one stage"),
	}
	c.Flags().StringVar(&base, "base", "", "the `commit` from which changes count (default: where HEAD parted from the main branch)")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(p *contract.Pipeline, s pipeline.State) error {
			stage, err := p.Stage(args[1])
			if err != nil {
				return err
			}
			var scope *pipeline.Scope
			if stage.Name == "implement" || stage.Name == "git" {
				changes, err := pipeline.Changes(c.Context(), pipeline.RunGit, a.root, base)
				if err != nil {
					return err
				}
				scope = &changes
			} else if base != "" {
				return invalid("gate", stage.Name, "--base is for the stages implement and git", "leave it out")
			}
			v := pipeline.Gate(p, stage.Name, s, scope)
			return a.answer(v.Pass, v, func() { a.lines(v.String()) })
		})
	}
	return c
}

// lines prints lines that may hold text from outside.
func (a *pipelines) lines(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(a.out, oneLine(strings.TrimSuffix(line, "\n")))
	}
}

func pipelineNextCommand(a *pipelines) *cobra.Command {
	c := &cobra.Command{
		Use:   "next ISSUE",
		Short: "Which agent acts next, from what, and why",
		Long: `Next reads a run's artifacts and says what comes next: the agent, the files it
reads, the file it writes, and the reason. It looks at what artifacts say and at
the order in which they are known to have been written, never at file times.`,
		Example: "  handoff pipeline next 42\n  handoff pipeline next 42 --json",
		Args:    exactly(1, "one issue"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(p *contract.Pipeline, s pipeline.State) error {
			step := pipeline.Next(p, s)
			return a.print(step, func() { a.lines(step.String()) })
		})
	}
	return c
}

func pipelineTraceCommand(a *pipelines) *cobra.Command {
	var state bool
	c := &cobra.Command{
		Use:   "trace ISSUE",
		Short: "How a run went: attempts, durations, retries",
		Long: `Trace shows the attempts of each stage in the order in which they are known to
have happened. What nobody wrote down, a duration, say, is shown as unknown.

With --state it prints the state.yaml that the artifacts make. Where the run has
one that says something else, each difference is told on standard error, and the
exit code is 1.`,
		Example: "  handoff pipeline trace 42\n  handoff pipeline trace 42 --state",
		Args:    exactly(1, "one issue"),
	}
	c.Flags().BoolVar(&state, "state", false, "print state.yaml as the artifacts make it")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineRun(args[0], func(p *contract.Pipeline, s pipeline.State) error {
			if state {
				return a.state(p, s)
			}
			t := pipeline.TraceOf(p, s)
			return a.print(t, func() { a.trace(t) })
		})
	}
	return c
}

func (a *pipelines) trace(t pipeline.Trace) {
	a.rows([]string{"stage", "attempt", "agent", "result", "started", "took", "artifact"}, t.Rows())
	for _, stage := range sortedKeys(t.Retries) {
		fmt.Fprintf(a.err, "retries of %s: %d\n", stage, t.Retries[stage])
	}
	if t.TotalMS > 0 {
		fmt.Fprintf(a.err, "%s altogether\n", time.Duration(t.TotalMS)*time.Millisecond)
	}
}

func (a *pipelines) state(p *contract.Pipeline, s pipeline.State) error {
	notes, err := pipeline.Compare(p, s)
	if err != nil {
		return err
	}
	b, err := notes.YAML()
	if err != nil {
		return err
	}
	for _, d := range notes.Drift {
		a.warn("%s: %s", contract.StateFile, d)
	}
	return a.answer(len(notes.Drift) == 0, notes, func() { a.out.Write(b) })
}
