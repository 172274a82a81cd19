package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/contract"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/spf13/cobra"
)

func lessonsCommand(a *app) *cobra.Command {
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
		switch {
		case example:
			_, err := io.WriteString(a.out, pipeline.ExampleLessons)
			return err
		case len(args) > 0:
			return invalid("lessons", args[0], "no such command", "handoff pipeline lessons --help lists the commands")
		}
		return c.Help()
	}
	c.AddCommand(lessonsAddCommand(a), lessonsListCommand(a), lessonsMatchCommand(a), lessonsPruneCommand(a))
	return c
}

func lessonsAddCommand(a *app) *cobra.Command {
	var l pipeline.Lesson
	var asJSON bool
	c := &cobra.Command{
		Use:   "add",
		Short: "Add a lesson, or count one that is known",
		Long: `Add writes a lesson. A pattern that is there already, but for case and space,
is counted once more instead.`,
		Example: "  handoff pipeline lessons add --pattern 'port is taken' --mitigation 'listen on port 0' --issue 42",
		Args:    exactly(0, ""),
	}
	c.Flags().StringVar(&l.Pattern, "pattern", "", "what failed, in `words` that would be said again")
	c.Flags().StringVar(&l.Mitigation, "mitigation", "", "what helped, in `words`")
	c.Flags().StringVar(&l.Issue, "issue", "", "the `issue` in which it was seen")
	c.Flags().StringVar(&l.Date, "date", "", "the `day`: 2026-11-21 (default: today)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: all lessons")
	c.RunE = func(c *cobra.Command, args []string) error {
		if l.Date == "" {
			l.Date = a.now().Format(time.DateOnly)
		}
		if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
			return invalid("--date", l.Date, "is no day", "write 2026-11-21")
		}
		if l.Issue != "" {
			if err := contract.CheckIssue(l.Issue); err != nil {
				return err
			}
		}
		return a.changeLessons(asJSON, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) { return pipeline.AddLesson(list, l) })
	}
	return c
}

func lessonsPruneCommand(a *app) *cobra.Command {
	keep := pipeline.MaxLessons
	var asJSON bool
	c := &cobra.Command{
		Use:     "prune",
		Short:   "Keep only the newest lessons",
		Example: "  handoff pipeline lessons prune --keep 20",
		Args:    exactly(0, ""),
	}
	c.Flags().IntVar(&keep, "keep", keep, "this `number`")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: the lessons that are left")
	c.RunE = func(c *cobra.Command, args []string) error {
		if keep < 1 {
			return invalid("--keep", strconv.Itoa(keep), "keeps nothing", "the smallest number is 1")
		}
		return a.changeLessons(asJSON, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return pipeline.PruneLessons(list, keep), nil
		})
	}
	return c
}

// changeLessons changes the lessons and says how many there are.
func (a *app) changeLessons(asJSON bool, change func([]pipeline.Lesson) ([]pipeline.Lesson, error)) error {
	return a.pipelineOf(func(files *os.Root, _ *contract.Pipeline) error {
		list, err := pipeline.ChangeLessons(files, change)
		if err != nil {
			return err
		}
		if asJSON {
			return a.json(list)
		}
		fmt.Fprintf(a.out, "%d lessons\n", len(list))
		return nil
	})
}

func lessonsListCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the lessons",
		Example: "  handoff pipeline lessons list --json",
		Args:    exactly(0, ""),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineOf(func(files *os.Root, _ *contract.Pipeline) error {
			list, err := pipeline.Lessons(files)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(append([]pipeline.Lesson{}, list...))
			}
			var rows [][]string
			for _, l := range list {
				rows = append(rows, lessonRow(l))
			}
			a.rows([]string{"date", "times", "issue", "pattern", "mitigation"}, rows)
			return nil
		})
	}
	return c
}

func lessonRow(l pipeline.Lesson) []string {
	return []string{l.Date, strconv.Itoa(l.Frequency), l.Issue, l.Pattern, l.Mitigation}
}

func lessonsMatchCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "match TEXT|-",
		Short:   "Find the lessons that a failure reminds of, best first",
		Long:    "Match ranks the lessons by how many words of their pattern a failure has. - reads\nthe failure from standard input. Exit code 1 says that there is none.",
		Example: "  handoff pipeline lessons match 'listen tcp :8080: bind: port is taken'",
		Args:    exactly(1, "one text"),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		failure := args[0]
		if failure == "-" {
			b, err := io.ReadAll(io.LimitReader(a.in, contract.MaxArtifact))
			if err != nil {
				return &handoff.Error{Op: "match", Name: "-", Kind: handoff.Unavailable, Err: err}
			}
			failure = string(b)
		}
		return a.pipelineOf(func(files *os.Root, _ *contract.Pipeline) error {
			list, err := pipeline.Lessons(files)
			if err != nil {
				return err
			}
			matches := pipeline.MatchLessons(list, failure)
			if asJSON {
				err = a.json(matches)
			} else {
				var rows [][]string
				for _, m := range matches {
					rows = append(rows, append([]string{fmt.Sprintf("%.0f%%", m.Score*100)}, lessonRow(m.Lesson)...))
				}
				a.rows([]string{"words", "date", "times", "issue", "pattern", "mitigation"}, rows)
			}
			return errors.Join(err, none(len(matches)))
		})
	}
	return c
}

// none is the answer no where nothing was found.
func none(found int) error {
	if found == 0 {
		return errNo
	}
	return nil
}
