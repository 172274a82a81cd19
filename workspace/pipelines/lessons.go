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
)

// A Lesson is a known failure and its mitigation. Lessons are shared by all
// pipeline runs of a workspace.
type Lesson = lessons.Lesson

// A LessonMatch is a lesson whose pattern shares words with a failure.
type LessonMatch = lessons.Match

// A LessonList has the lessons of a workspace, in the order of their file.
type LessonList struct {
	Lessons []Lesson `json:"lessons"`
}

// LessonMatches are the lessons for a failure, best match first.
type LessonMatches struct {
	Matches []LessonMatch `json:"matches"`
}

// MaxLessons is the maximum number of lessons. When there are more, the oldest is
// dropped.
const MaxLessons = lessons.Max

// ExampleLessons is an example of a lessons file.
const ExampleLessons = lessons.Example

// Lessons returns the lessons of the workspace. Kinds: Corrupt, Unavailable.
func (p Runs) Lessons() (LessonList, error) { return p.lessons(lessons.Read) }

// AddLesson adds a lesson, or counts it once more if its pattern is known. Its
// date is today by default.
//
// Kinds: Invalid (no pattern, a date or an issue ID), Corrupt, Unavailable.
func (p Runs) AddLesson(ctx context.Context, l Lesson) (LessonList, error) {
	l.Date = cmp.Or(l.Date, p.o.Now().Format(time.DateOnly))
	return p.changeLessons(ctx, func(list []Lesson) ([]Lesson, error) { return lessons.Add(list, l) })
}

// PruneLessons keeps the newest lessons. Kinds: Invalid (keep is less than 1),
// Corrupt, Unavailable.
func (p Runs) PruneLessons(ctx context.Context, keep int) (LessonList, error) {
	if keep < 1 {
		return LessonList{}, handoff.E("prune lessons", strconv.Itoa(keep), handoff.Invalid,
			errors.New("must be 1 or greater"),
			handoff.Advice("keep at least 1"))
	}
	return p.changeLessons(ctx, func(list []Lesson) ([]Lesson, error) { return lessons.Prune(list, keep), nil })
}

// MatchLessons returns the lessons that share words with the text of a failure.
// Kinds: those of Lessons.
func (p Runs) MatchLessons(failure string) (LessonMatches, error) {
	list, err := p.Lessons()
	return LessonMatches{lessons.Find(list.Lessons, failure)}, err
}

func (p Runs) changeLessons(ctx context.Context, change func([]Lesson) ([]Lesson, error)) (LessonList, error) {
	return p.lessons(func(files *os.Root) ([]Lesson, error) { return lessons.Change(ctx, files, change) })
}

func (p Runs) lessons(do func(files *os.Root) ([]Lesson, error)) (LessonList, error) {
	files, err := p.files()
	if err != nil {
		return LessonList{}, err
	}
	defer files.Close()
	list, err := do(files)
	return LessonList{append([]Lesson{}, list...)}, err // in JSON a list even if there are none
}
