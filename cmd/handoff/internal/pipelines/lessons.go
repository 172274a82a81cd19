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
		Short: "Manage the known failures and their mitigations",
		Long: fmt.Sprintf(`Lessons are failures and their mitigations. They are stored in
.pipeline/lessons.yaml for all runs: a planner reads them before it plans. At
most %d are stored; adding another removes the oldest.`, pipeline.MaxLessons),
		Example: "  handoff pipeline lessons list\n  go test ./... 2>&1 | handoff pipeline lessons match -",
	}
	c.Flags().BoolVar(&example, "example", false, "print an example of lessons.yaml")
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
		Short: "Add a lesson, or count a known one",
		Long: `Add stores a lesson. If the pattern exists, ignoring case and white space, its
count is increased instead.`,
		Example: "  handoff pipeline lessons add --pattern 'port is taken' \\\n      --mitigation 'listen on port 0' --issue 42",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().StringVar(&l.Pattern, "pattern", "", "`text` of the failure, in words that are likely to occur again")
	c.Flags().StringVar(&l.Mitigation, "mitigation", "", "`text` that describes the mitigation")
	c.Flags().StringVar(&l.Issue, "issue", "", "`issue` in which it occurred")
	c.Flags().StringVar(&l.Date, "date", "", "`date` as 2006-01-02 (default: today)")
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
		Short:   "Remove all but the newest lessons",
		Example: "  handoff pipeline lessons prune --keep 20",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().IntVar(&keep, "keep", keep, "`number` of lessons to keep")
	c.RunE = func(c *cobra.Command, args []string) error {
		if keep < 1 {
			return cli.Invalid("--keep", strconv.Itoa(keep), "must be 1 or greater", "keep at least 1")
		}
		return d.changeLessons(func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return pipeline.PruneLessons(list, keep), nil
		})
	}
	return c
}

// changeLessons changes the lessons and prints how many there are.
func (d *desk) changeLessons(change func([]pipeline.Lesson) ([]pipeline.Lesson, error)) error {
	return d.book(func(_ *workspace.Workspace, b *pipeline.Runs) error {
		list, err := pipeline.ChangeLessons(b.Files, change)
		if err != nil {
			return err
		}
		return d.print(lessonList{append([]pipeline.Lesson{}, list...)}, func() { fmt.Fprintf(d.Out, "lessons: %d\n", len(list)) })
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
			return d.print(lessonList{append([]pipeline.Lesson{}, list...)}, func() { d.Table(lessonHead, rows) })
		})
	}
	return c
}

type lessonList struct {
	Lessons []pipeline.Lesson `json:"lessons"`
}

type lessonMatches struct {
	Matches []pipeline.Match `json:"matches"`
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
		Short:   "Find the lessons that match a failure, best first",
		Long:    "Match ranks the lessons by the share of their pattern's words that the failure\ncontains. - reads the failure from standard input. Exit code 1: none matches.",
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
			return d.answer(len(matches) > 0, lessonMatches{matches}, func() { d.Table(append([]string{"words"}, lessonHead...), rows) })
		})
	}
	return c
}
