package pipelines

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func lessonsCommand(d *desk) *cobra.Command {
	var example bool
	c := &cobra.Command{
		Use:   "lessons",
		Short: "Failures that were seen before, and what helped",
		Long: fmt.Sprintf(`Lessons are kept in .pipeline/lessons.yaml, across runs: a planner reads them
before it plans. At most %d are kept; beyond that the oldest goes.`, pipeline.MaxLessons),
		Example: "  handoff pipeline lessons add --pattern 'port is taken' --mitigation 'listen on port 0'\n  go test ./... 2>&1 | handoff pipeline lessons match -",
	}
	c.Flags().BoolVar(&example, "example", false, "print a file of lessons that shows how one is written")
	c.RunE = func(c *cobra.Command, args []string) error {
		if example {
			_, err := io.WriteString(d.Out, pipeline.ExampleLessons)
			return err
		}
		return group(c, args)
	}
	c.AddCommand(lessonsAddCommand(d), lessonsListCommand(d), lessonsMatchCommand(d), lessonsPruneCommand(d))
	return c
}

func lessonsAddCommand(d *desk) *cobra.Command {
	var l pipeline.Lesson
	c := &cobra.Command{
		Use:   "add",
		Short: "Add a lesson, or count one that is known",
		Long: `Add writes a lesson. A pattern that is there already, but for case and space,
is counted once more instead.`,
		Example: "  handoff pipeline lessons add --pattern 'port is taken' --mitigation 'listen on port 0' --issue 42",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().StringVar(&l.Pattern, "pattern", "", "what failed, in `words` that would be said again")
	c.Flags().StringVar(&l.Mitigation, "mitigation", "", "what helped, in `words`")
	c.Flags().StringVar(&l.Issue, "issue", "", "the `issue` in which it was seen")
	c.Flags().StringVar(&l.Date, "date", "", "the `day`: 2026-11-21 (default: today)")
	c.RunE = func(c *cobra.Command, args []string) error {
		l.Date = cmp.Or(l.Date, d.Now().Format(time.DateOnly))
		return d.changeLessons(func(list []pipeline.Lesson) ([]pipeline.Lesson, error) { return pipeline.AddLesson(list, l) })
	}
	return c
}

func lessonsPruneCommand(d *desk) *cobra.Command {
	keep := pipeline.MaxLessons
	c := &cobra.Command{
		Use:     "prune",
		Short:   "Keep only the newest lessons",
		Example: "  handoff pipeline lessons prune --keep 20",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().IntVar(&keep, "keep", keep, "this `number`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if keep < 1 {
			return cli.Invalid("--keep", strconv.Itoa(keep), "keeps nothing", "the smallest number is 1")
		}
		return d.changeLessons(func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return pipeline.PruneLessons(list, keep), nil
		})
	}
	return c
}

// changeLessons changes the lessons and says how many there are.
func (d *desk) changeLessons(change func([]pipeline.Lesson) ([]pipeline.Lesson, error)) error {
	return d.book(func(_ *workspace.Workspace, b *pipeline.Runs) error {
		list, err := pipeline.ChangeLessons(b.Files, change)
		if err != nil {
			return err
		}
		return d.print(list, func() { fmt.Fprintf(d.Out, "%d lessons\n", len(list)) })
	})
}

func lessonsListCommand(d *desk) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the lessons",
		Example: "  handoff pipeline lessons list --json",
		Args:    cli.Exactly(0, ""),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.lessons(func(list []pipeline.Lesson) error {
			rows := make([][]string, len(list))
			for i, l := range list {
				rows[i] = l.Row()
			}
			return d.print(append([]pipeline.Lesson{}, list...), func() { d.Table(lessonHead, rows) })
		})
	}
	return c
}

// lessons reads the lessons.
func (d *desk) lessons(do func([]pipeline.Lesson) error) error {
	return d.book(func(_ *workspace.Workspace, b *pipeline.Runs) error {
		list, err := pipeline.Lessons(b.Files)
		if err != nil {
			return err
		}
		return do(list)
	})
}

var lessonHead = []string{"date", "times", "issue", "pattern", "mitigation"}

func lessonsMatchCommand(d *desk) *cobra.Command {
	c := &cobra.Command{
		Use:     "match TEXT|-",
		Short:   "Find the lessons that a failure reminds of, best first",
		Long:    "Match ranks the lessons by how many words of their pattern a failure has. - reads\nthe failure from standard input. Exit code 1 says that there is none.",
		Example: "  handoff pipeline lessons match 'listen tcp :8080: bind: port is taken'",
		Args:    cli.Exactly(1, "one text"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		failure := args[0]
		if failure == "-" {
			b, err := io.ReadAll(io.LimitReader(d.In, contract.MaxArtifact))
			if err != nil {
				return &handoff.Error{Op: "match", Name: "-", Kind: handoff.Unavailable, Err: err}
			}
			failure = string(b)
		}
		return d.lessons(func(list []pipeline.Lesson) error {
			matches := pipeline.MatchLessons(list, failure)
			rows := make([][]string, len(matches))
			for i, m := range matches {
				rows[i] = append([]string{fmt.Sprintf("%.0f%%", m.Score*100)}, m.Row()...)
			}
			return d.answer(len(matches) > 0, matches, func() { d.Table(append([]string{"words"}, lessonHead...), rows) })
		})
	}
	return c
}
