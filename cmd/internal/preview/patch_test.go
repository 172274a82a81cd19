package preview

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const twoFiles = `From 1234 Mon Sep 17 00:00:00 2001
Subject: [PATCH] Back off
---
 2 files changed

diff --git a/src/up.go b/src/up.go
index 1..2 100644
--- a/src/up.go
+++ b/src/up.go
@@ -1,2 +1,3 @@
 package up
-func send(f File) error {
+func send(ctx context.Context, f File) error {
+	return nil
diff --git "a/\303\244.py" "b/\303\244.py"
new file mode 100644
--- /dev/null
+++ "b/\303\244.py"
@@ -0,0 +1 @@
+print(1)
-- 
2.43.0
`

// TestFiles divides a diff by its files, whatever heads they have.
func TestFiles(t *testing.T) {
	for _, tt := range []struct{ name, diff, want string }{
		{"of git format-patch", twoFiles, `[""  +0 -0] ["src/up.go" go +2 -1] ["ä.py" python +1 -0]`},
		{"without names of git", "--- a.py\t2026-01-01\n+++ b.py\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n--- c\n+++ d\n@@ -7 +8 @@\n-u\n",
			`["b.py" python +1 -1] ["d"  +0 -1]`},
		{"removed, renamed and binary", "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
			"diff --git a/u b/v\nrename from u\nrename to v\ndiff --git a/i.png b/i.png\nBinary files differ\n",
			`["x.rs" rust +0 -1] ["v"  +0 -0] ["i.png"  +0 -0]`},
		{"of Subversion", "Index: a.c\n=====\n--- a.c\n+++ a.c\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\nIndex: b.c\n",
			`["a.c" c +1 -1] ["b.c" c +0 -0]`},
		{"lines like heads", "--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n z\n", `["a"  +1 -1]`},
		{"a name with a tag", "diff --git a/<b> b/<b>\n", `["<b>"  +0 -0]`},
	} {
		var got []string
		for _, f := range FilesOf(linesOfDiff([]byte(tt.diff), false), "") {
			got = append(got, fmt.Sprintf("[%q %s +%d -%d]", f.Name, f.Language, f.Added, f.Removed))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
	}
}

// TestDiffOfFiles shows a diff of several files with a fold for each. The digest of a file
// changes with what is changed in it.
func TestDiffOfFiles(t *testing.T) {
	p := render(t, Source{Name: "fix.patch"}, Options{}, twoFiles)
	html := string(p.HTML)
	for _, want := range []string{`2 files <span class="added">+3</span> <span class="removed">−1</span>`,
		`<summary><code>src/up.go</code> <span class="added">+2</span> <span class="removed">−1</span></summary>`,
		`<ol class="lines diff" aria-label="Lines" data-language="python">`, `">ä.py</a> <span class="added">+1</span>`, `send(<mark>ctx context.Context, </mark>f`} {
		if !strings.Contains(html, want) {
			t.Errorf("got %s, want %s", html, want)
		}
	}
	if p.Files != 2 || p.Added != 3 || p.Removed != 1 || strings.Count(html, "<details") != 3 || p.Language != "go" {
		t.Errorf("got %d files, +%d −%d, %s: %s", p.Files, p.Added, p.Removed, p.Language, html)
	}
	checkSafe(t, html)
	digests := regexp.MustCompile(`data-file="(\w+)"`)
	before := digests.FindAllStringSubmatch(html, -1)
	other := render(t, Source{Name: "fix.patch"}, Options{}, strings.Replace(twoFiles, "print(1)", "print(2)", 1))
	after := digests.FindAllStringSubmatch(string(other.HTML), -1)
	if before[0][1] != after[0][1] || before[1][1] == after[1][1] {
		t.Errorf("another change of the second file: got the digests %q, before %q", after, before)
	}
	if one := render(t, Source{Name: "a.patch"}, Options{}, "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"); one.Files != 1 ||
		one.Added != 1 || strings.Contains(string(one.HTML), "<details") {
		t.Errorf("one file: got %+v", one)
	}
}

// TestCounts counts the lines that a diff shows.
func TestCounts(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"a\nb\nc\n", "a\nB\nc\nd\n", "2 1 true"},
		{"++ x\n-- y\n", "++ x\n", "0 1 true"},
		{"a", "a\n", "1 1 true"},
		{"same\n", "same\n", "0 0 true"},
		{"a\x00", "b", "0 0 false"},
		{strings.Repeat("b", richSize+1), "b", "0 0 false"},
	} {
		added, removed, ok := Counts([]byte(tt.from), []byte(tt.to))
		if got := fmt.Sprint(added, removed, ok); got != tt.want {
			t.Errorf("%.20q and %.20q: got %s, want %s", tt.from, tt.to, got, tt.want)
		}
		from, to := Version{Name: "x", Text: []byte(tt.from)}, Version{Name: "x", Text: []byte(tt.to)}
		if p := Changes(from, to, Layout{}); p.Added != added || p.Removed != removed {
			t.Errorf("%.20q and %.20q: the diff has +%d −%d, want %s", tt.from, tt.to, p.Added, p.Removed, tt.want)
		}
	}
}
