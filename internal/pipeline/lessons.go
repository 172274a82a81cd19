package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"go.yaml.in/yaml/v4"
)

// MaxLessons is how many lessons are kept.
const MaxLessons = 50

// maxLessonsFile is the size of the largest file of lessons, in bytes.
const maxLessonsFile = 4 << 20

// A Lesson is a failure that was seen before, and what helped.
type Lesson struct {
	Date       string `yaml:"date" json:"date"` // 2006-01-02
	Issue      string `yaml:"issue" json:"issue"`
	Pattern    string `yaml:"pattern" json:"pattern"`
	Frequency  int    `yaml:"frequency" json:"frequency"`
	Mitigation string `yaml:"mitigation" json:"mitigation"`

	// Rest is what others wrote into the lesson; it is kept.
	Rest map[string]any `yaml:",inline" json:"-"`
}

// Row is the lesson as cells of a table: day, how often, issue, pattern, what
// helped.
func (l Lesson) Row() []string {
	return []string{l.Date, strconv.Itoa(l.Frequency), l.Issue, l.Pattern, l.Mitigation}
}

// ExampleLessons is a file of lessons that shows how one is written.
const ExampleLessons = `lessons:
  - date: "2026-11-21"
    issue: "42"
    pattern: "tests pass alone and fail together"
    frequency: 1
    mitigation: "give each test its own temporary directory"
`

type lessonsFile struct {
	Lessons []Lesson       `yaml:"lessons"`
	Rest    map[string]any `yaml:",inline"`
}

// Lessons reads the lessons of a workspace, in the order of the file. That there
// is no file is no error. Its kinds are Corrupt and Unavailable.
func Lessons(workspace *os.Root) ([]Lesson, error) {
	file, err := readLessons(workspace)
	return file.Lessons, err
}

func lessonsError(kind handoff.Kind, err error) error {
	return &handoff.Error{Op: "read lessons", Name: path.Join(Folder, contract.Lessons), Kind: kind, Err: err,
		Hint: handoff.Advice("an entry has a pattern, a mitigation and the issues that met it")}
}

func readLessons(workspace *os.Root) (lessonsFile, error) {
	var file lessonsFile
	f, err := workspace.Open(path.Join(Folder, contract.Lessons))
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, lessonsError(handoff.Unavailable, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxLessonsFile+1))
	if err != nil {
		return file, lessonsError(handoff.Unavailable, err)
	}
	if len(b) > maxLessonsFile {
		return file, lessonsError(handoff.Corrupt, fmt.Errorf("has more than %d bytes", maxLessonsFile))
	}
	if file, err = parseLessons(b); err != nil {
		return file, lessonsError(handoff.Corrupt, err)
	}
	return file, nil
}

func parseLessons(b []byte) (lessonsFile, error) {
	var file lessonsFile
	if len(bytes.TrimSpace(b)) == 0 {
		return file, nil
	}
	if err := yaml.Load(b, &file); err != nil {
		return lessonsFile{}, err
	}
	for i := range file.Lessons {
		file.Lessons[i].Frequency = max(1, file.Lessons[i].Frequency)
	}
	return file, nil
}

// ChangeLessons replaces a workspace's lessons by what change makes of them, and
// returns them. Of several processes that change them at once, each sees what
// the others did. The file is written beside and renamed; comments in it are not
// kept. Its kinds are those of Lessons, and those of change.
func ChangeLessons(workspace *os.Root, change func([]Lesson) ([]Lesson, error)) ([]Lesson, error) {
	var file lessonsFile
	err := locked(workspace, syscall.LOCK_EX, func(dir *os.Root, lock *os.File) (err error) {
		if file, err = readLessons(workspace); err != nil {
			return err
		}
		if file.Lessons, err = change(file.Lessons); err != nil {
			return err
		}
		b, err := yaml.Dump(file, yaml.WithIndent(2))
		if err != nil {
			return err
		}
		if err := replace(dir, lock, b); err != nil {
			return lessonsError(handoff.Unavailable, err)
		}
		return nil
	})
	return file.Lessons, err
}

// replace writes the file of lessons. The lock is held, so the temporary has one
// name, and what a dead process left of it is in nobody's way.
func replace(dir *os.Root, lock *os.File, b []byte) error {
	const temporary = "." + contract.Lessons + ".tmp"
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = dir.Rename(temporary, contract.Lessons)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temporary))
	}
	return lock.Sync()
}

// AddLesson adds a lesson. Where its pattern is there already, but for case and
// space, that one happened once more, on the new date and issue, and keeps its
// mitigation unless the new one has one. Beyond MaxLessons the oldest goes. Its
// kind is Invalid.
func AddLesson(list []Lesson, l Lesson) ([]Lesson, error) {
	key := patternKey(l.Pattern)
	if key == "" {
		return nil, &handoff.Error{Op: "add lesson", Kind: handoff.Invalid, Err: errors.New("has no pattern"), Hint: handoff.Advice("say with --pattern what failed")}
	}
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		return nil, &handoff.Error{Op: "add lesson", Name: l.Date, Kind: handoff.Invalid, Err: errors.New("is no day"), Hint: handoff.Advice("write a day as 2026-11-21")}
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
			known.Issue = cmp.Or(l.Issue, known.Issue)
			known.Mitigation = cmp.Or(l.Mitigation, known.Mitigation)
			return list, nil
		}
	}
	return PruneLessons(append(list, l), MaxLessons), nil
}

func patternKey(pattern string) string {
	return strings.ToLower(strings.Join(strings.Fields(pattern), " "))
}

// PruneLessons drops the oldest lessons beyond a number; of those of one day,
// the first in the file. The others keep their order.
func PruneLessons(list []Lesson, keep int) []Lesson {
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

// A Match is a lesson that may be about a failure.
type Match struct {
	Lesson
	Score float64 `json:"score"` // the part of the pattern's words that the failure has
}

// MatchLessons ranks the lessons whose pattern shares words with a failure: the
// larger the part shared the better, then the more frequent, then the newer.
func MatchLessons(list []Lesson, failure string) []Match {
	seen := map[string]bool{}
	for _, word := range words(failure) {
		seen[word] = true
	}
	matches := []Match{}
	for _, l := range list {
		pattern := words(l.Pattern)
		shared := 0
		for _, word := range pattern {
			if seen[word] {
				shared++
			}
		}
		if shared > 0 {
			matches = append(matches, Match{l, float64(shared) / float64(len(pattern))})
		}
	}
	slices.SortStableFunc(matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(b.Date, a.Date))
	})
	return matches
}

// words are the distinct words of a text, in lower case.
func words(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	slices.Sort(list)
	return slices.Compact(list)
}
