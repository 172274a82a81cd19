package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/git"
)

// apply applies a patch to the working tree of a directory.
func apply(t *testing.T, dir, patch string) error {
	t.Helper()
	r := open(t, dir)
	_, list, err := r.Patched(t.Context(), []byte(patch))
	if err != nil {
		return err
	}
	w, err := r.Begin(t.Context(), dir, list)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Write(t.Context())
}

// snapshot returns the names, modes and contents of all files below a directory.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(name + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			b.WriteString(strconv.Quote(string(content)))
		}
		b.WriteString("\n")
		return nil
	}))
	return b.String()
}

// added returns a patch that adds a file.
func added(path, mode, line string) string {
	return "diff --git a/" + path + " b/" + path + "\nnew file mode " + mode + "\n--- /dev/null\n+++ b/" + path +
		"\n@@ -0,0 +1 @@\n+" + line + "\n"
}

const changeA = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"

func TestApply(t *testing.T) {
	dir := repository(t, "echo one > a; echo x > gone; mkdir d; echo y > d/old; echo run > tool; git add .; git commit -qm one")
	before := snapshot(t, filepath.Join(dir, ".git"))
	patch := changeA + added("new/deep/b", "100755", "b") +
		"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
		"diff --git a/d/old b/moved\nsimilarity index 100%\nrename from d/old\nrename to moved\n" +
		"diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n"
	for i := range 2 { // again: nothing is left to do
		if err := apply(t, filepath.Join(dir), patch); err != nil {
			t.Fatal(i, err)
		}
	}
	if after := snapshot(t, filepath.Join(dir, ".git")); after != before {
		t.Errorf("the repository changed:\n%s\nbefore:\n%s", after, before)
	}
	do(t, dir, `test "$(cat a)" = two; test -x new/deep/b; test ! -e gone; test ! -e d; test "$(cat moved)" = y`,
		"test -x tool; test ! -x a")
}

// TestApplyCompletes applies a patch of which a part was written.
func TestApplyCompletes(t *testing.T) {
	dir := repository(t, "echo one > a; git add .; git commit -qm one; echo two > a")
	if err := apply(t, dir, changeA+added("b", "100644", "b")); err != nil {
		t.Fatal(err)
	}
	do(t, dir, `test "$(cat b)" = b`)
}

func TestApplyRefuses(t *testing.T) {
	const link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+.git\n" +
		"\\ No newline at end of file\n"
	for name, tt := range map[string]struct {
		patch, before string
		want          error // nil for any
	}{
		"nothing":          {"no patch\n", "", git.ErrNoPatch},
		"empty":            {"", "", git.ErrNoPatch},
		"another text":     {strings.Replace(changeA, "-one", "-three", 1), "", git.ErrDiffers},
		"parent":           {added("../x", "100644", "x"), "", git.ErrUnsafe},
		"absolute":         {added("/tmp/x", "100644", "x"), "", git.ErrUnsafe},
		"link":             {link, "", git.ErrUnsafe},
		"through a link":   {link + added("l/hooks/post-checkout", "100755", "x"), "", git.ErrUnsafe},
		"hook":             {added(".git/hooks/x", "100755", "x"), "", git.ErrUnsafe},
		"upper case":       {added(".GIT/config", "100644", "x"), "", git.ErrUnsafe},
		"short name":       {added("git~1/config", "100644", "x"), "", nil},
		"invisible":        {added(".g\u200cit/config", "100644", "x"), "", git.ErrUnsafe},
		"below":            {added("d/.git/config", "100644", "x"), "", git.ErrUnsafe},
		"handoff":          {added(".handoff/config.yaml", "100644", "x"), "", git.ErrUnsafe},
		"handoff in upper": {added(".Handoff/log/x", "100644", "x"), "", git.ErrUnsafe},
		"backslash":        {added(`"d\\.git\\config"`, "100644", "x"), "", nil},
		"control":          {added("a b\r", "100644", "x"), "", nil},
		"crlf": {strings.ReplaceAll(changeA+added(".handoff/x", "100644", "x"), "\n", "\r\n"), "",
			nil},
		"submodule": {"diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n" +
			"+Subproject commit 1111111111111111111111111111111111111111\n", "", git.ErrUnsafe},
		"becomes a link":  {"diff --git a/a b/a\nold mode 100644\nnew mode 120000\n", "", nil},
		"rename into git": {"diff --git a/a b/.git/config\nsimilarity index 100%\nrename from a\nrename to .git/config\n", "", nil},
		"copy to a hook":  {"diff --git a/a b/.git/hooks/x\nsimilarity index 100%\ncopy from a\ncopy to .git/hooks/x\n", "", nil},
		"large binary": {"diff --git a/z b/z\nnew file mode 100644\nindex 0000000000000000000000000000000000000000.." +
			"1111111111111111111111111111111111111111\nGIT binary patch\nliteral 99999999999\nzcmV\n\nliteral 0\nHcmV?d00001\n\n",
			"", nil},
		"uncommitted":      {changeA, "echo mine > a", git.ErrDiffers},
		"mode changed":     {changeA, "chmod +x a", git.ErrDiffers},
		"staged":           {changeA, "echo mine > a; git add a; echo one > a", git.ErrDiffers},
		"removed":          {changeA, "rm a", git.ErrDiffers},
		"untracked":        {added("b", "100644", "b"), "echo mine > b", git.ErrDiffers},
		"dangling link":    {added("b", "100644", "b"), "ln -s /tmp/none b", git.ErrDiffers},
		"linked directory": {added("n/hooks/x", "100755", "b"), "ln -s .git n", git.ErrUnsafe},
		"other repository": {added("n/x", "100755", "b"), "git init -q n", git.ErrUnsafe},
		"directory":        {added("n", "100755", "b"), "mkdir n; echo x > n/x", git.ErrDiffers},
		"no commit":        {added("n", "100755", "b"), "git update-ref -d HEAD", git.ErrNoCommit},
		"other tree":       {changeA, "mkdir in; git config core.worktree ../..", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, "echo one > a; git add .; git commit -qm one", tt.before)
			before := snapshot(t, filepath.Dir(dir))
			err := apply(t, dir, tt.patch)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if after := snapshot(t, filepath.Dir(dir)); after != before {
				t.Errorf("changed to\n%s\nfrom\n%s", after, before)
			}
		})
	}
}

// TestApplyRunsNoProgram applies a patch in a repository whose settings name programs.
func TestApplyRunsNoProgram(t *testing.T) {
	dir := repository(t, "echo '* filter=f diff=f merge=f' > .gitattributes; echo one > a; git add .; git commit -qm one",
		"git config filter.f.clean 'touch ../ran; cat'; git config filter.f.smudge 'touch ../ran; cat'",
		"git config filter.f.process 'touch ../ran'; git config diff.f.textconv 'touch ../ran'",
		"git config diff.f.command 'touch ../ran'; git config diff.external 'touch ../ran'",
		"git config core.fsmonitor 'touch ../ran'; git config merge.f.driver 'touch ../ran'",
		"git config core.splitIndex true; git config core.pager 'touch ../ran'; git config apply.whitespace error",
		`for h in post-index-change post-checkout pre-commit pre-applypatch; do
			printf '#!/bin/sh\ntouch ../ran\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done`, "rm -f ../ran")
	before := snapshot(t, filepath.Join(dir, ".git"))
	if err := apply(t, dir, changeA+added("b", "100644", "trailing ")); err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, filepath.Join(dir, ".git")); after != before {
		t.Errorf("the repository changed:\n%s\nbefore:\n%s", after, before)
	}
	if _, err := os.Lstat(filepath.Join(dir, "../ran")); err == nil {
		t.Error("a program ran")
	}
}

// A countdown is a context that ends when it was asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestApplyTakesBack interrupts the writing before each file.
func TestApplyTakesBack(t *testing.T) {
	dir := repository(t, "echo one > a; mkdir d; echo x > d/x; git add .; git commit -qm one")
	patch := "diff --git a/d/x b/d/x\ndeleted file mode 100644\n--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
		changeA + added("b/c/e", "100755", "b") + added("b/f", "100644", "y")
	before := snapshot(t, dir)
	r := open(t, dir)
	_, list, err := r.Patched(t.Context(), []byte(patch))
	must(t, err)
	for i := range list {
		w, err := r.Begin(t.Context(), dir, list)
		must(t, err)
		if err := w.Write(&countdown{t.Context(), i}); !errors.Is(err, context.Canceled) {
			t.Errorf("%d: got %v", i, err)
		}
		must(t, w.Close())
		if after := snapshot(t, dir); after != before {
			t.Fatalf("%d: changed to\n%s\nfrom\n%s", i, after, before)
		}
	}
	must(t, apply(t, dir, patch))
}
