// Package lessons manages the known failures of a workspace and their
// mitigations, which are stored in one YAML file for all runs.
package lessons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/pipeline"
)

// Max is the maximum number of lessons.
const Max = 50

// maxSize is the maximum size of the lessons file, in bytes.
const maxSize = 4 << 20

// File is the path of the lessons file, relative to the workspace.
const File = contract.Folder + "/" + contract.Lessons

// Example is an example of a lessons file.
const Example = `lessons:
  - date: "2026-11-21"
    issue: "42"
    pattern: "tests pass alone and fail together"
    frequency: 1
    mitigation: "give each test its own temporary directory"
`

// Read reads the lessons of a workspace, in the order of the file. A missing
// file has no lessons. Its kinds are Corrupt and Unavailable.
func Read(workspace *os.Root) ([]pipeline.Lesson, error) {
	d, err := readFile(workspace)
	return d.lessons, err
}

func newError(op string, kind handoff.Kind, err error) error {
	hint := folder.WritableHint
	switch {
	case kind == handoff.Corrupt:
		hint = "fix the file by hand: it is a list of lessons, alone or as the key lessons, each with a pattern, a " +
			"mitigation, a date and an issue"
	case op == "read":
		hint = "make the file readable"
	}
	return handoff.E(op+" lessons", File, kind, durable.Reason(err), handoff.Advice(hint))
}

func readFile(workspace *os.Root) (document, error) {
	b, err := plainfile.ReadIn(workspace, File, maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return document{}, nil
	case errors.Is(err, plainfile.ErrTooLarge):
		return document{}, newError("read", handoff.Corrupt, err)
	case err != nil:
		return document{}, newError("read", handoff.Unavailable, err)
	}
	d, err := parse(b)
	if err != nil {
		return document{}, newError("read", handoff.Corrupt, err)
	}
	return d, nil
}

// Change replaces the lessons of a workspace with the result of change and
// returns them. Concurrent changes are serialized. The file is replaced
// atomically; comments and unknown fields in it are preserved. Its kinds are those
// of Read and those of change.
func Change(ctx context.Context, workspace *os.Root, change func([]pipeline.Lesson) ([]pipeline.Lesson,
	error)) ([]pipeline.Lesson, error) {
	var list []pipeline.Lesson
	err := folder.Lock(ctx, workspace, syscall.LOCK_EX, func(*os.Root) error {
		d, err := readFile(workspace)
		if err != nil {
			return err
		}
		if list, err = change(d.lessons); err != nil {
			return err
		}
		b, err := d.with(list)
		if err != nil {
			return err
		}
		if len(b) > maxSize { // else nothing could read it again
			return handoff.E("write lessons", File, handoff.Invalid, fmt.Errorf("would be larger than %d bytes", maxSize),
				handoff.Advice("shorten the texts, or prune lessons first"))
		}
		err = durable.Replace(workspace, File, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			return newError("write", handoff.Unavailable, err)
		}
		return nil
	})
	return list, err
}

// Add adds a lesson. If a lesson with the same pattern exists, regardless
// of case and white space, its frequency is increased instead, and it takes the
// new date, the new issue beside the known ones, and the new mitigation if there is one. Beyond Max
// the oldest lesson is dropped. Its kind is Invalid.
func Add(list []pipeline.Lesson, l pipeline.Lesson) ([]pipeline.Lesson, error) {
	key := patternKey(l.Pattern)
	if key == "" {
		return nil, handoff.E("add lesson", "", handoff.Invalid, errors.New("pattern is empty"),
			handoff.Advice("describe the failure in the words of its error message"))
	}
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		return nil, handoff.E("add lesson", l.Date, handoff.Invalid, errors.New("invalid date"),
			handoff.Advice("use the form 2026-11-21"))
	}
	if l.Issue != "" {
		if err := contract.CheckIssue(l.Issue); err != nil {
			return nil, err
		}
	}
	list = slices.Clone(list)
	l.Frequency = max(1, l.Frequency)
	for i := range list {
		if known := &list[i]; patternKey(known.Pattern) == key {
			known.Frequency += l.Frequency
			known.Date = max(known.Date, l.Date)
			addIssue(known, l.Issue)
			known.Mitigation = cmp.Or(l.Mitigation, known.Mitigation)
			return list, nil
		}
	}
	return Prune(append(list, l), Max), nil
}

// addIssue adds an issue in which the lesson occurred.
func addIssue(l *pipeline.Lesson, issue string) {
	if issue == "" {
		return
	}
	all := slices.Clone(l.Issues)
	for _, other := range []string{l.Issue, issue} {
		if other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	if l.Issue = issue; len(all) > 1 {
		l.Issues = all
	}
}

func patternKey(pattern string) string {
	return strings.ToLower(strings.Join(strings.Fields(pattern), " "))
}

// Prune keeps the newest lessons, in their order, and drops the others.
// Of lessons with the same date, the first in the file counts as older.
func Prune(list []pipeline.Lesson, keep int) []pipeline.Lesson {
	list = slices.Clone(list)
	for len(list) > max(0, keep) {
		oldest := 0
		for i, l := range list {
			if l.Date < list[oldest].Date {
				oldest = i
			}
		}
		list = slices.Delete(list, oldest, oldest+1)
	}
	return list
}

// Find returns the lessons whose pattern shares words with a failure,
// sorted by score, then frequency, then date, highest first.
func Find(list []pipeline.Lesson, failure string) []pipeline.LessonMatch {
	seen := map[string]bool{}
	for _, word := range words(failure) {
		seen[word] = true
	}
	matches := []pipeline.LessonMatch{}
	for _, l := range list {
		pattern := words(l.Pattern)
		shared := 0
		for _, word := range pattern {
			if seen[word] {
				shared++
			}
		}
		if shared > 0 {
			matches = append(matches, pipeline.LessonMatch{Lesson: l, Score: float64(shared) / float64(len(pattern))})
		}
	}
	order.Sort(matches, func(a, b pipeline.LessonMatch) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(b.Date, a.Date))
	})
	return matches
}

// words returns the distinct words of a text, in lower case.
func words(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	slices.Sort(list)
	return slices.Compact(list)
}
