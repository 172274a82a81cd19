package reviews

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-handoff/handoff"
)

// anchored returns the text of a comment about bytes of a text, and their place.
func anchored(content string, start, end int) (handoff.CommentText, handoff.Place) {
	quote := first(content[start:end], handoff.MaxQuote)
	return handoff.CommentText{Quote: quote, Before: last(content[:start], handoff.MaxQuoteContext),
		After: first(content[start+len(quote):], handoff.MaxQuoteContext)}, newPlace(content, "", start, end)
}

// occurrences returns where a text has a part, also where two overlap.
func occurrences(text, part string) (list []int) {
	for i := range len(text) - len(part) + 1 {
		if text[i:i+len(part)] == part {
			list = append(list, i)
		}
	}
	return list
}

// want returns where a comment must be: where the quote is unique, otherwise where it is
// with its context.
func want(content string, text handoff.CommentText) (at int, ok bool) {
	if list := occurrences(content, text.Quote); len(list) == 1 {
		return list[0], true
	}
	if list := occurrences(content, text.Before+text.Quote+text.After); len(list) == 1 {
		return list[0] + len(text.Before), true
	}
	return 0, false
}

// TestMove moves comments between random texts with few different lines.
func TestMove(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "aa\n", "ä€\n", "\n", "a b\n"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 1, 12).Draw(t, "lines")
		from := rapid.IntRange(0, len(lines)-1).Draw(t, "from")
		to := rapid.IntRange(from, min(len(lines)-1, from+3)).Draw(t, "to")
		content := strings.Join(lines, "")
		start, end, n := lineSpan(content, from+1, to+1)
		if n != len(lines) || content[start:end] != strings.TrimSuffix(strings.Join(lines[from:to+1], ""), "\n") {
			t.Fatalf("lines %d-%d of %q are %q", from+1, to+1, content, content[start:end])
		}
		text, p := anchored(content, start, end)
		if p.FirstLine != from+1 || p.LastLine > to+1 || string([]rune(content)[p.Start:p.End]) != content[start:end] {
			t.Fatalf("place of bytes %d-%d of %q: %+v", start, end, content, p)
		}
		if text.Quote == "" { // an empty line has nothing to quote
			return
		}
		later := strings.Join(append(rapid.SliceOfN(line, 0, 3).Draw(t, "before"),
			append(lines, rapid.SliceOfN(line, 0, 3).Draw(t, "after")...)...), "")
		if rapid.Bool().Draw(t, "edited") {
			later = strings.Replace(later, "b", "c", 1)
		}
		at, ok := Find(later, text)
		if wantAt, wantOK := want(later, text); at != wantAt || ok != wantOK {
			t.Fatalf("%+v in %q: %d, %v, want %d, %v", text, later, at, ok, wantAt, wantOK)
		}
	})
}

// TestMoveInHistory moves comments between 200 pairs of revisions of this project's own
// documents: each is where the quoted text is unique, or outdated.
func TestMoveInHistory(t *testing.T) {
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", "../.."}, args...)...).Output()
		if err != nil {
			t.Skip("needs the history of this repository")
		}
		return string(out)
	}
	type revision struct{ commit, path string }
	revisions := map[string][]revision{}
	var paths []string
	for _, path := range strings.Fields(git("ls-files", "docs/*.md", "README.md", "CONTRIBUTING.md")) {
		for _, commit := range strings.Fields(git("log", "-n", "40", "--format=%h", "--", path)) {
			revisions[path] = append(revisions[path], revision{commit, path})
		}
		if len(revisions[path]) > 1 {
			paths = append(paths, path)
		}
	}
	if len(paths) < 5 {
		t.Skip("needs five documents with several revisions in the history of this repository")
	}
	r := rand.New(rand.NewPCG(31, 1))
	moved, outdated := 0, 0
	for range 200 {
		list := revisions[paths[r.IntN(len(paths))]]
		later := r.IntN(len(list) - 1)
		earlier := later + 1 + r.IntN(len(list)-later-1)
		before := git("show", list[earlier].commit+":./"+list[earlier].path)
		after := git("show", list[later].commit+":./"+list[later].path)
		lines := strings.Count(before, "\n")
		from := 1 + r.IntN(max(1, lines))
		start, end, _ := lineSpan(before, from, min(lines, from+r.IntN(4)))
		text, _ := anchored(before, start, end)
		if text.Quote == "" {
			continue
		}
		at, ok := Find(after, text)
		wantAt, wantOK := want(after, text)
		if at != wantAt || ok != wantOK || ok && !strings.HasPrefix(after[at:], text.Quote) {
			t.Errorf("%s %s to %s: %q at %d, %v, want %d, %v", list[later].path, list[earlier].commit, list[later].commit,
				text.Quote, at, ok, wantAt, wantOK)
		}
		if ok {
			moved++
		} else {
			outdated++
		}
	}
	t.Logf("%d moved, %d outdated", moved, outdated)
	if moved == 0 || outdated == 0 {
		t.Errorf("%d moved and %d outdated test nothing", moved, outdated)
	}
}

// TestQuoteIsCut keeps the limits of a quote and its context.
func TestQuoteIsCut(t *testing.T) {
	content := strings.Repeat("ä", 500) + strings.Repeat("€", 1000) + strings.Repeat("z", 500)
	start, end := len(strings.Repeat("ä", 500)), len(content)-500
	text, _ := anchored(content, start, end)
	got := fmt.Sprint(len([]rune(text.Quote)), len([]rune(text.Before)), len([]rune(text.After)))
	if want := fmt.Sprint(handoff.MaxQuote, handoff.MaxQuoteContext, handoff.MaxQuoteContext); got != want {
		t.Errorf("quote and context have %s characters, want %s", got, want)
	}
}

// TestSides finds lines of both sides of a file in a patch.
func TestSides(t *testing.T) {
	patch := "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -3,4 +3,4 @@ func f() {\n three\n-four\n--- old five\n" +
		"+FOUR\n+++ new five\n six\n" +
		"diff --git a/y.go b/y.go\n--- a/y.go\n+++ b/y.go\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+ONE\n"
	for _, tt := range []struct {
		file, side  string
		first, last int
		want        string
	}{
		{"x.go", handoff.SideOld, 4, 5, "-four\n--- old five"},
		{"x.go", handoff.SideNew, 4, 5, "+FOUR\n+++ new five"},
		{"x.go", handoff.SideNew, 6, 6, " six"},
		{"x.go", handoff.SideOld, 3, 6, " three\n-four\n--- old five\n+FOUR\n+++ new five\n six"},
		{"y.go", handoff.SideOld, 1, 1, "-one"},
		{"y.go", handoff.SideNew, 1, 1, "+ONE"},
		{"y.go", handoff.SideNew, 2, 2, ""},
		{"x.go", handoff.SideOld, 6, 7, ""},
		{"z.go", handoff.SideNew, 1, 1, ""},
	} {
		start, end, err := sideSpan(patch, tt.file, tt.side, tt.first, tt.last)
		if got := patch[start:end]; got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s lines %d-%d of the %s side = %q, %v, want %q", tt.file, tt.first, tt.last, tt.side, got, err, tt.want)
			continue
		}
		if err != nil {
			continue
		}
		where, ok := sidePlace(patch, tt.file, tt.side, start, end)
		if !ok || where.FirstLine != tt.first || where.LastLine != tt.last {
			t.Errorf("place of %q = %+v, want lines %d-%d", tt.want, where, tt.first, tt.last)
		}
	}
}
