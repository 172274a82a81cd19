package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	compare "github.com/rogpeppe/go-internal/diff"
)

// text returns the lines of a diff, one each: kind, names, numbers and bytes.
func text(content string, part bool) string {
	var b strings.Builder
	for l := range Lines(content, part) {
		name := "-"
		if l.File != nil {
			name = l.File.Old + ">" + l.File.New
		}
		fmt.Fprintf(&b, "%c %s %d %d %q\n", "hHc-+n"[l.Kind], name, l.Old, l.New, content[l.Start:l.End])
	}
	return b.String()
}

// TestLines reads the heads of git, diff and Subversion.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, diff string
		want       string // a part of it
	}{
		{"git", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,2 +3 @@ f\n c\n-d\n", "H x>x 3 3 \"@@ -3,2 +3 @@ f\"\n" +
			"c x>x 3 3 \" c\"\n- x>x 4 0 \"-d\"\n"},
		{"a directory that is named like a prefix", "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-d\n", `- a/x>a/x 1 0 "-d"`},
		{"git, in such a directory", "diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-d\n", `- a/x>a/x 1 0 "-d"`},
		{"a name that git quotes", "--- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+d\n", `+ >ä 0 1 "+d"`},
		{"lines like heads", "--- x\n+++ x\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n z\n", "- x>x 1 0 \"--- x\"\n+ x>x 0 1 \"+++ y\"\nc x>x 2 2 \" z\""},
		{"a hunk that is longer than it says", "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n+c\n", `+ x>x 0 2 "+c"`},
		{"the end of an e-mail", "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n", `h x>x 0 0 "2.43.0"`},
		{"Subversion", "Index: x\n===\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-a\n\\ No newline\n+b",
			"- x>x 1 0 \"-a\"\nn x>x 0 0 \"\\\\ No newline\"\n+ x>x 0 1 \"+b\"\n"},
		{"a file that was only renamed", "diff --git a/u b/v\nrename from u\nrename to v\n", `h u>v 0 0 "rename to v"`},
		{"no diff", "a\n--- b\n", "h - 0 0 \"a\"\nh - 0 0 \"--- b\"\n"},
	} {
		if got := text(tt.diff, false); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant %s", tt.name, got, tt.want)
		}
	}
	if got, want := text("+a\n b\n", true), "+ - 0 0 \"+a\"\nc - 0 0 \" b\"\n"; got != want {
		t.Errorf("a part of a diff: got\n%s\nwant\n%s", got, want)
	}
}

// TestApply makes the second of two random texts of the first one and their diff.
func TestApply(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	random := func() (list []string) {
		for range r.IntN(12) {
			list = append(list, []string{"", "-- ", "++ x", "-- y", "diff --git a b", "@@ -1 +1 @@", "z", "Index: w"}[r.IntN(8)])
		}
		return list
	}
	join := func(list []string) []byte {
		if len(list) == 0 {
			return nil
		}
		return []byte(strings.Join(list, "\n") + "\n")
	}
	for range 2000 {
		before, after := random(), random()
		content := string(compare.Diff("x", join(before), "y", join(after)))
		var got []string
		next := 0
		for l := range Lines(content, false) {
			switch l.Kind {
			case Hunk:
				got = append(got, before[next:l.Old-1]...)
				next = l.Old - 1
			case Context, Added:
				if got = append(got, content[l.Start+1:l.End]); l.New != len(got) {
					t.Fatalf("line %d of the new text is %d in\n%s", len(got), l.New, content)
				}
				if l.Kind == Context {
					next++
				}
			case Removed:
				if next++; l.Old != next || before[next-1] != content[l.Start+1:l.End] {
					t.Fatalf("line %d of the old text is %d in\n%s", next, l.Old, content)
				}
			}
		}
		if got = append(got, before[next:]...); string(join(got)) != string(join(after)) {
			t.Fatalf("got %q, want %q of\n%s", got, after, content)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", false)
	f.Add("--- \"\n+++ /dev/null\t\n@@ -99999999999999999999,0 +0,0 @@\n", true)
	f.Fuzz(func(t *testing.T, content string, part bool) {
		at := 0
		for l := range Lines(content, part) {
			if l.Start != at || l.End < l.Start || strings.Contains(content[l.Start:l.End], "\n") {
				t.Fatalf("line at %d-%d after %d of %q", l.Start, l.End, at, content)
			}
			at = l.End + 1
		}
		if at < len(content) {
			t.Errorf("%d of %d bytes of %q", at, len(content), content)
		}
	})
}
