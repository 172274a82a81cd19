package pipelines

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/spf13/cobra"
)

func lessonsCommand(a *app) *cobra.Command {
	var example bool
	c := &cobra.Command{
		Use:   "lessons [COMMAND]",
		Short: "Manage known failures and their mitigations",
		Long: fmt.Sprintf(`Lessons are known failures and their mitigations, for all runs. They are stored
in .pipeline/lessons.yaml, at most %d; adding another drops the oldest.`, pipelines.MaxLessons),
		Example: "  handoff pipeline lessons list\n  go test ./... 2>&1 | handoff pipeline lessons match -",
	}
	c.Flags().BoolVar(&example, "example", false, "print an example of a lessons file")
	c.RunE = func(c *cobra.Command, args []string) error {
		if example {
			_, err := io.WriteString(a.Out, pipelines.ExampleLessons)
			return err
		}
		return group(c, args)
	}
	c.AddCommand(lessonsAddCommand(a), lessonsListCommand(a), lessonsMatchCommand(a), lessonsPruneCommand(a))
	return c
}

func lessonsAddCommand(a *app) *cobra.Command {
	var l pipeline.Lesson
	c := &cobra.Command{
		Use:   "add",
		Short: "Add a lesson, or count a known one again",
		Long: `Add adds a lesson. If its pattern is known, regardless of case and white space,
that lesson is counted again instead.`,
		Example: "  handoff pipeline lessons add --pattern 'port is taken' \\\n      --mitigation 'listen on port 0' " +
			"--issue 42",
		Args: cli.Exactly(0, ""),
	}
	c.Flags().StringVar(&l.Pattern, "pattern", "", "`text` of the failure, in the words of its error message")
	c.Flags().StringVar(&l.Mitigation, "mitigation", "", "mitigation `text`")
	c.Flags().StringVar(&l.Issue, "issue", "", "`issue` in which it occurred")
	c.Flags().StringVar(&l.Date, "date", "", "`date` as 2006-01-02 (default: today)")
	cli.Answers(a.App, c, cli.Prints(pipelines.LessonList{}))
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.changeLessons(func(known pipelines.Lessons) (pipelines.LessonList, error) {
			return known.Add(c.Context(), l)
		})
	}
	return c
}

func lessonsPruneCommand(a *app) *cobra.Command {
	keep := pipelines.MaxLessons
	c := &cobra.Command{
		Use:     "prune",
		Short:   "Keep only the newest lessons",
		Example: "  handoff pipeline lessons prune --keep 20",
		Args:    cli.Exactly(0, ""),
	}
	c.Flags().IntVar(&keep, "keep", keep, "`number` of lessons to keep")
	cli.Answers(a.App, c, cli.Prints(pipelines.LessonList{}))
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.changeLessons(func(known pipelines.Lessons) (pipelines.LessonList, error) {
			return known.Prune(c.Context(), keep)
		})
	}
	return c
}

func (a *app) changeLessons(change func(pipelines.Lessons) (pipelines.LessonList, error)) error {
	return a.reading(func(p pipelines.Runs) error {
		list, err := change(p.Lessons())
		if err != nil {
			return err
		}
		return a.print(list, func() { fmt.Fprintf(a.Out, "lessons: %d\n", len(list.Lessons)) })
	})
}

var lessonColumns = []cli.Column{
	{Name: "date", Rank: 3}, {Name: "times", Rank: 4}, {Name: "issue", Rank: 2}, {Name: "pattern", Text: true},
	{Name: "mitigation", Rank: 1, Text: true},
}

func lessonRow(l pipeline.Lesson) []string {
	return []string{l.Date, strconv.Itoa(l.Frequency), l.Issue, l.Pattern, l.Mitigation}
}

func lessonsListCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the lessons",
		Example: "  handoff pipeline lessons list --json",
		Args:    cli.Exactly(0, ""),
	}
	table := a.NewTable(c, lessonColumns)
	cli.Answers(a.App, c, cli.Prints(pipelines.LessonList{}))
	c.RunE = func(*cobra.Command, []string) error {
		return a.reading(func(p pipelines.Runs) error {
			list, err := p.Lessons().List()
			if err != nil {
				return err
			}
			rows := make([][]string, len(list.Lessons))
			for i, l := range list.Lessons {
				rows[i] = lessonRow(l)
			}
			return a.list("lessons", list, table, lessonColumns, rows)
		})
	}
	return c
}

// maxFailure is the maximum size of a failure from standard input, in bytes.
const maxFailure = 16 << 20

func lessonsMatchCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "match TEXT|-",
		Short: "Find the lessons for a failure, best match first",
		Long: `Match sorts the lessons by the fraction of the words of their pattern that the
text of a failure contains. With - the text is read from standard input. The
exit code is 1 if there is no match.`,
		Example: "  handoff pipeline lessons match 'listen tcp :8080: bind: port is taken'",
		Args:    cli.Exactly(1, "one text"),
	}
	matchColumns := append([]cli.Column{{Name: "score"}}, lessonColumns...)
	table := a.NewTable(c, matchColumns)
	cli.Answers(a.App, c, cli.Prints(pipelines.LessonMatches{}))
	c.RunE = func(_ *cobra.Command, args []string) error {
		failure := args[0]
		if failure == "-" {
			b, err := io.ReadAll(io.LimitReader(a.In, maxFailure))
			var known *handoff.Error
			if errors.As(err, &known) {
				return err
			}
			if err != nil {
				return handoff.E("match", "-", handoff.Unavailable, err)
			}
			failure = string(b)
		}
		return a.reading(func(p pipelines.Runs) error {
			found, err := p.Lessons().Match(failure)
			if err != nil {
				return err
			}
			rows := make([][]string, len(found.Matches))
			for i, m := range found.Matches {
				rows[i] = append([]string{fmt.Sprintf("%.0f%%", m.Score*100)}, lessonRow(m.Lesson)...)
			}
			if err := a.list("matches", found, table, matchColumns, rows); err != nil || len(rows) > 0 {
				return err
			}
			return cli.ErrNo
		})
	}
	return c
}
