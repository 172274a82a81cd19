package pipelines

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/lessons"
	"github.com/agent-handoff/handoff/pipeline"
)

// A LessonList has the lessons of a workspace, in the order of their file.
type LessonList struct {
	Lessons []pipeline.Lesson `json:"lessons"`
}

// LessonMatches are the lessons for a failure, best match first.
type LessonMatches struct {
	Matches []pipeline.LessonMatch `json:"matches"`
}

// MaxLessons is the maximum number of lessons. When there are more, the oldest is
// dropped.
const MaxLessons = lessons.Max

// ExampleLessons is an example of a lessons file.
const ExampleLessons = lessons.Example

// Lessons are the lessons of a workspace.
type Lessons struct{ p Runs }

// Lessons returns the lessons of the workspace.
func (p Runs) Lessons() Lessons { return Lessons{p} }

// List returns the lessons. Kinds: Corrupt, Unavailable.
func (l Lessons) List() (LessonList, error) { return l.do(lessons.Read) }

// Add adds a lesson, or counts it once more if its pattern is known. Its
// date is today by default.
//
// Kinds: Invalid (no pattern, a date or an issue ID), Corrupt, Unavailable.
func (l Lessons) Add(ctx context.Context, lesson pipeline.Lesson) (LessonList, error) {
	lesson.Date = cmp.Or(lesson.Date, l.p.o.Now().Format(time.DateOnly))
	return l.change(ctx, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) { return lessons.Add(list, lesson) })
}

// Prune keeps the newest lessons. Kinds: Invalid (keep is less than 1),
// Corrupt, Unavailable.
func (l Lessons) Prune(ctx context.Context, keep int) (LessonList, error) {
	if keep < 1 {
		return LessonList{}, handoff.E("prune lessons", strconv.Itoa(keep), handoff.Invalid,
			errors.New("must be 1 or greater"),
			handoff.Advice("keep at least 1"))
	}
	return l.change(ctx, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) { return lessons.Prune(list, keep), nil })
}

// Match returns the lessons that share words with the text of a failure.
// Kinds: those of List.
func (l Lessons) Match(failure string) (LessonMatches, error) {
	list, err := l.List()
	return LessonMatches{lessons.Find(list.Lessons, failure)}, err
}

func (l Lessons) change(ctx context.Context, change func([]pipeline.Lesson) ([]pipeline.Lesson, error)) (LessonList,
	error) {
	return l.do(func(files *os.Root) ([]pipeline.Lesson, error) { return lessons.Change(ctx, files, change) })
}

func (l Lessons) do(do func(files *os.Root) ([]pipeline.Lesson, error)) (LessonList, error) {
	files, err := l.p.files()
	if err != nil {
		return LessonList{}, err
	}
	defer files.Close()
	list, err := do(files)
	return LessonList{append([]pipeline.Lesson{}, list...)}, err // in JSON a list even if there are none
}
