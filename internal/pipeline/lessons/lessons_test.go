package lessons_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/lessons"
	"github.com/agent-handoff/handoff/pipeline"
)

// newRoot returns a directory with a .pipeline.
func newRoot(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	if err := root.Mkdir(".pipeline", 0o777); err != nil {
		t.Fatal(err)
	}
	return root, dir
}

func writeLessons(t *testing.T, root *os.Root, content string) {
	t.Helper()
	if err := root.WriteFile(".pipeline/lessons.yaml", []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, list []pipeline.Lesson, l pipeline.Lesson) []pipeline.Lesson {
	t.Helper()
	list, err := lessons.Add(list, l)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAddLesson(t *testing.T) {
	list := add(t, nil, pipeline.Lesson{Date: "2026-11-20", Issue: "1", Pattern: "Port is  taken",
		Mitigation: "listen on port 0"})
	list = add(t, list, pipeline.Lesson{Date: "2026-11-21", Issue: "2", Pattern: " port IS taken "})
	if len(list) != 1 || list[0].Frequency != 2 || list[0].Date != "2026-11-21" || list[0].Issue != "2" ||
		list[0].Mitigation != "listen on port 0" {
		t.Errorf("got %+v, want one lesson, seen twice", list)
	}
	if _, err := lessons.Add(list, pipeline.Lesson{Pattern: " "}); !errors.Is(err, handoff.Invalid) {
		t.Errorf("no pattern: got %v, want Invalid", err)
	}
	for i := range 60 {
		list = add(t, list, pipeline.Lesson{Date: fmt.Sprintf("2026-10-%02d", i%30+1), Pattern: fmt.Sprintf("p%d", i)})
	}
	if len(list) != lessons.Max {
		t.Errorf("got %d lessons, want %d", len(list), lessons.Max)
	}
	if list[0].Issue != "2" {
		t.Errorf("the newest lesson was dropped: first is %+v", list[0])
	}
}

func TestPruneLessons(t *testing.T) {
	var list []pipeline.Lesson
	for _, date := range []string{"2026-01-03", "2026-01-01", "2026-01-04", "2026-01-01"} {
		list = append(list, pipeline.Lesson{Date: date, Pattern: fmt.Sprint(len(list))})
	}
	for keep, want := range map[int]string{5: "0123", 3: "023", 2: "02", 1: "2", 0: "", -1: ""} {
		got := ""
		for _, l := range lessons.Prune(list, keep) {
			got += l.Pattern
		}
		if got != want {
			t.Errorf("keep %d: got %s, want %s", keep, got, want)
		}
	}
}

func TestMatchLessons(t *testing.T) {
	list := []pipeline.Lesson{
		{Pattern: "port is taken", Frequency: 1, Date: "2026-01-01"},
		{Pattern: "PORT taken", Frequency: 1, Date: "2026-01-02"},
		{Pattern: "taken port", Frequency: 3, Date: "2026-01-01"},
		{Pattern: "no space left", Frequency: 9},
	}
	got := ""
	for _, m := range lessons.Find(list, "listen :8080: port already taken!") {
		got += fmt.Sprintf("%s %.2f; ", m.Pattern, m.Score)
	}
	if want := "taken port 1.00; PORT taken 1.00; port is taken 0.67; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestConcurrentLessons checks that no lesson is lost when several are added at
// the same time.
func TestConcurrentLessons(t *testing.T) {
	_, dir := newRoot(t)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer root.Close()
			_, err = lessons.Change(t.Context(), root, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
				return lessons.Add(list, pipeline.Lesson{Date: "2026-11-21", Pattern: fmt.Sprintf("p%d", i%20)})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	list, err := lessons.Read(root)
	if err != nil || len(list) != 20 {
		t.Fatalf("got %d lessons, %v, want 20", len(list), err)
	}
	for _, l := range list {
		if l.Frequency != 2 {
			t.Errorf("%s: got frequency %d, want 2", l.Pattern, l.Frequency)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".pipeline", ".*")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

// TestHandwrittenLessons checks that unknown fields survive a change and that a
// file that can't be parsed is never replaced.
func TestHandwrittenLessons(t *testing.T) {
	root, _ := newRoot(t)
	add := func() error {
		_, err := lessons.Change(t.Context(), root, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return lessons.Add(list, pipeline.Lesson{Date: "2026-11-21", Pattern: "new"})
		})
		return err
	}
	writeLessons(t, root,
		"owner: team\nlessons:\n  - date: 2026-01-02\n    issue: 42\n    pattern: old\n    severity: high\n")
	if err := add(); err != nil {
		t.Fatal(err)
	}
	b, err := root.ReadFile(".pipeline/lessons.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"owner: team", "2026-01-02", "42", "severity: high", "pattern: old", "frequency: 1",
		"pattern: new"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("file lost %q:\n%s", want, b)
		}
	}
	for _, broken := range []string{"lessons: [", "lessons: 7", "lessons: []\nlessons: []", strings.Repeat("#", 5<<20),
		"base: &x {lessons: [{pattern: a}]}\n<<: *x\n", "lessons: &x [*x]", "&x {lessons: *x}"} {
		writeLessons(t, root, broken)
		if err := add(); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("%.20q: got %v, want Corrupt", broken, err)
		}
		if b, err := root.ReadFile(".pipeline/lessons.yaml"); err != nil || string(b) != broken {
			t.Errorf("%.20q was replaced", broken)
		}
	}
}

func FuzzLessons(f *testing.F) {
	f.Add([]byte(lessons.Example))
	f.Add([]byte("lessons: [{pattern: 7, date: 2026-11-21, frequency: -1}]"))
	f.Add([]byte("base: &x [{pattern: a}]\nlessons: *x\n"))
	f.Add([]byte("- &a {pattern: a}\n-\n- *a\n- {<<: *a, issue: 3}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		root, _ := newRoot(t)
		writeLessons(t, root, string(b))
		list, err := lessons.Read(root)
		if err != nil {
			return
		}
		lessons.Find(list, "tests pass alone")
		if _, err := lessons.Change(t.Context(), root,
			func(l []pipeline.Lesson) ([]pipeline.Lesson, error) { return l, nil }); err != nil {
			t.Fatal(err)
		}
		again, err := lessons.Read(root)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%q: written again it has %d lessons, %v, want %d", b, len(again), err, len(list))
		}
	})
}

// TestForms checks that a list is read alone and as a key, and that a change keeps
// comments, unknown fields and issues.
func TestForms(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{"missing", "",
			"lessons:\n- date: \"2026-11-21\"\n  issue: \"7\"\n  pattern: x\n  frequency: 1\n  mitigation: \"\"\n"},
		{"only comments", "# ours\n", "# ours\nlessons:\n- date: \"2026-11-21\"\n  issue: \"7\"\n  pattern: x\n  " +
			"frequency: 1\n  mitigation: \"\"\n"},
		{"null", "lessons:\n",
			"lessons:\n- date: \"2026-11-21\"\n  issue: \"7\"\n  pattern: x\n  frequency: 1\n  mitigation: \"\"\n"},
		{"a list", "# ours\n- pattern: x # seen often\n  mitigation: y\n  issue: 3\n  owner: team\n",
			"# ours\n- pattern: x # seen often\n  mitigation: y\n  issue: \"7\"\n  owner: team\n  date: \"2026-11-21\"\n  " +
				"frequency: 2\n  issues:\n  - \"3\"\n  - \"7\"\n"},
		{"a key", "# ours\nowner: team\nlessons:\n  # first\n  - pattern: x\n    frequency: 3 # times\n    date: " +
			"2026-12-01\n# end\n",
			"# ours\nowner: team\nlessons:\n# first\n- pattern: x\n  frequency: 4 # times\n  date: 2026-12-01\n  issue: " +
				"\"7\"\n# end\n"},
		{"an empty item", "- pattern: a\n  mitigation: ma\n-\n- pattern: x\n  owner: team\n  issue: 7\n  date: " +
			"2026-12-01\n- pattern: c\n  mitigation: mc\n",
			"- pattern: a\n  mitigation: ma\n  frequency: 1\n- pattern: x\n  owner: team\n  issue: 7\n  date: 2026-12-01\n  " +
				"frequency: 2\n- pattern: c\n  mitigation: mc\n  frequency: 1\n"},
		{"an alias", "base: &b\n  - pattern: a\nlessons: *b\n",
			"base: &b\n- pattern: a\n  frequency: 1\n- date: \"2026-11-21\"\n  issue: \"7\"\n  pattern: x\n  frequency: 1\n  " +
				"mitigation: \"\"\nlessons: *b\n"},
	} {
		root, _ := newRoot(t)
		if tt.before != "" {
			writeLessons(t, root, tt.before)
		}
		_, err := lessons.Change(t.Context(), root, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return lessons.Add(list, pipeline.Lesson{Date: "2026-11-21", Issue: "7", Pattern: "X"})
		})
		if err != nil {
			t.Fatal(tt.name, err)
		}
		b, err := root.ReadFile(".pipeline/lessons.yaml")
		if err != nil || !strings.EqualFold(string(b), tt.after) {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.name, err, b, tt.after)
		}
	}
}

// TestLargeLessons adds lessons until one is refused: the file can still be read.
func TestLargeLessons(t *testing.T) {
	root, _ := newRoot(t)
	text, n := strings.Repeat("word ", 100_000), 0
	for ; n < 20; n++ {
		_, err := lessons.Change(t.Context(), root, func(list []pipeline.Lesson) ([]pipeline.Lesson, error) {
			return lessons.Add(list, pipeline.Lesson{Date: "2026-11-21", Pattern: fmt.Sprint(n), Mitigation: text})
		})
		if errors.Is(err, handoff.Invalid) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if list, err := lessons.Read(root); err != nil || len(list) != n || n == 20 {
		t.Errorf("%d lessons, %v, after %d were added", len(list), err, n)
	}
}
