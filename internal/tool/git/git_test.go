package git_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/git"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repository returns a new repository in which shell commands ran.
func repository(t *testing.T, commands ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir = filepath.Join(dir, "r")
	must(t, os.Mkdir(dir, 0o777))
	do(t, dir, "git init -q -b main; git config user.name n; git config user.email n@example.com",
		strings.Join(commands, "\n"))
	return dir
}

func do(t *testing.T, dir string, commands ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(commands, "\n"))
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE=2026-11-20T10:00:00Z",
		"GIT_COMMITTER_DATE=2026-11-20T10:00:01Z")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func open(t *testing.T, dir string) git.Repository {
	t.Helper()
	r, err := git.Open(t.Context(), dir)
	must(t, err)
	return r
}

func TestCommit(t *testing.T) {
	dir := repository(t, "mkdir -p sub; printf x > a; printf y > 'b c'; git add .; git commit -qm one",
		"printf z > a; git rm -q 'b c'; git mv -f a sub/a; git commit -qam 'two words'",
		"git checkout -q -b side main~1; touch d; git add d; git commit -qm three; git checkout -q main; git merge -q side "+
			"-m merged")
	r := open(t, filepath.Join(dir, "sub"))
	if r.Top != dir {
		t.Errorf("got %s, want %s", r.Top, dir)
	}
	x, z := r.BlobID([]byte("x")), r.BlobID([]byte("z"))
	for _, tt := range []struct{ revision, subject, files string }{
		{"main~2", "one", "a:->x b c:->y"},
		{"main~1", "two words", "a:x-> b c:y-> sub/a:->z"},
		{"side", "three", "d:->empty"},
		{"main", "merged", ""},
	} {
		c, err := r.Commit(t.Context(), tt.revision)
		must(t, err)
		name := strings.NewReplacer(x, "x", z, "z", r.BlobID([]byte("y")), "y", r.BlobID(nil), "empty")
		var files []string
		for _, f := range c.Files {
			files = append(files, f.Path+":"+name.Replace(f.Old)+"->"+name.Replace(f.New))
		}
		if got := strings.Join(files, " "); got != tt.files || c.Subject != tt.subject {
			t.Errorf("%s: got %q %q, want %q %q", tt.revision, c.Subject, got, tt.subject, tt.files)
		}
		if c.AuthoredAt.Unix()+1 != c.CommittedAt.Unix() {
			t.Errorf("%s: authored at %v, committed at %v", tt.revision, c.AuthoredAt, c.CommittedAt)
		}
	}
	for _, revision := range []string{"nowhere", "--help", "", "main:sub", x} {
		if c, err := r.Commit(t.Context(), revision); !errors.Is(err, git.ErrNoCommit) {
			t.Errorf("%q: got %+v %v, want %v", revision, c, err, git.ErrNoCommit)
		}
	}
	if b, err := r.Blob(t.Context(), z); err != nil || string(b) != "z" {
		t.Errorf("got %q %v, want z", b, err)
	}
	if _, err := git.Open(t.Context(), t.TempDir()); !errors.Is(err, git.ErrNone) {
		t.Errorf("got %v, want %v", err, git.ErrNone)
	}
}

// TestHistory checks that commits are found on branches and in worktrees, also on a
// detached one.
func TestHistory(t *testing.T) {
	dir := repository(t, "mkdir sub; printf 1 > 'sub/*'; printf 1 > sub/a; git add .; git commit -qm one",
		"git worktree add -q --detach ../w; cd ../w; printf 2 > 'sub/*'; git commit -qam two; cd ../r",
		"git checkout -q -b side; printf 3 > 'sub/*'; git commit -qam three; git checkout -q main; printf 4 > sub/a; git "+
			"commit -qam four")
	list, err := open(t, filepath.Join(filepath.Dir(dir), "w")).History(t.Context(), "sub/*", 10)
	must(t, err)
	found := map[string]int{}
	for _, c := range list {
		found[c.Subject] = len(c.Files)
	}
	if fmt.Sprint(found) != "map[one:1 three:1 two:1]" {
		t.Errorf("got %v, want the commits one, two and three with a file each", found)
	}
}

func TestBlame(t *testing.T) {
	dir := repository(t,
		`printf 'a\nb\n' > 'b "c'; git add .; git commit -qm one; git mv 'b "c' d; printf 'c\n' >> d; git commit -qam two; printf 'd\n' >> d`)
	r := open(t, dir)
	one, err := r.Resolve(t.Context(), "main~1")
	must(t, err)
	for _, tt := range []struct {
		line int
		want git.Line
	}{
		{2, git.Line{Commit: one, Path: `b "c`, Number: 2}},
		{4, git.Line{Path: "d", Number: 4}},
	} {
		if got, err := r.Blame(t.Context(), "d", tt.line); err != nil || got != tt.want {
			t.Errorf("line %d: got %+v %v, want %+v", tt.line, got, err, tt.want)
		}
	}
	if got, err := r.Blame(t.Context(), "d", 9); err == nil {
		t.Errorf("line 9: got %+v, want an error", got)
	}
}

// TestBlameOfNothing checks that a file that HEAD does not have is not committed, and
// that the setting of a list of commits that is missing does not matter.
func TestBlameOfNothing(t *testing.T) {
	unborn := open(t, repository(t, "printf 'a\n' > a; git add ."))
	dir := repository(t, "printf 'a\n' > a; git add .; git commit -qm one; printf 'b\n' > b; printf 'c\n' > c; git add "+
		"c; git config blame.ignoreRevsFile .nowhere")
	r := open(t, dir)
	one, err := r.Resolve(t.Context(), "main")
	must(t, err)
	for _, tt := range []struct {
		in   git.Repository
		path string
		want string
	}{{r, "a", one}, {r, "b", ""}, {r, "c", ""}, {unborn, "a", ""}} {
		if got, err := tt.in.Blame(t.Context(), tt.path, 1); err != nil ||
			got != (git.Line{Commit: tt.want, Path: tt.path, Number: 1}) {
			t.Errorf("%s: got %+v %v, want the commit %q", tt.path, got, err, tt.want)
		}
	}
}

// TestRunsNoProgram checks that reading commits and lines runs no program that the
// settings of a repository name.
func TestRunsNoProgram(t *testing.T) {
	dir := repository(t, "printf 'a\n' > a.go; git add .; git commit -qm one")
	r, out := open(t, dir), t.TempDir()
	program := func(name string) string { return fmt.Sprintf("touch %s/%s; cat", out, name) }
	must(t, os.WriteFile(filepath.Join(out, "gpg.sh"), []byte("#!/bin/sh\n"+program("gpg")+"\n"), 0o777))
	tree, err := git.Run(t.Context(), dir, "rev-parse", "main^{tree}")
	must(t, err)
	signed := fmt.Sprintf("tree %sauthor n <n@example.com> 1 +0000\ncommitter n <n@example.com> 1 +0000\ngpgsig "+
		"-----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n", tree)
	must(t, os.WriteFile(filepath.Join(dir, "signed"), []byte(signed), 0o666))
	do(t, dir, "git update-ref refs/heads/signed $(git hash-object -t commit -w signed)")
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(strings.Join([]string{
		"[core]", "repositoryformatversion = 1", "fsmonitor = \"" + program("fsmonitor") + "\"", "pager = \"" +
			program("pager") + "\"",
		"[pager]", "log = \"" + program("pager2") + "\"", "blame = \"" + program("pager3") + "\"",
		"[log]", "showSignature = true", "mailmap = true",
		"[gpg]", "program = " + filepath.Join(out, "gpg.sh"),
		"[extensions]", "partialClone = evil",
		"[remote \"evil\"]", "url = \"ext::" + program("transport") + "\"", "promisor = true",
		"[protocol]", "allow = always",
		"[diff]", "external = \"" + program("external") + "\"", "orderFile = nowhere",
		"[diff \"d\"]", "command = \"" + program("diff") + "\"", "textconv = \"" + program("textconv") + "\"",
		"[filter \"f\"]", "clean = \"" + program("clean") + "\"", "required = true",
	}, "\n")), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("a.go filter=f diff=d\n"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("a\nb\n"), 0o666))
	for _, revision := range []string{"main", "signed", strings.Repeat("1", 40)} { // a missing object would be fetched
		if c, err := r.Commit(t.Context(), revision); err == nil != (revision[0] != '1') {
			t.Errorf("%s: got %+v %v", revision, c, err)
		}
	}
	if list, err := r.History(t.Context(), "a.go", 10); err != nil || len(list) != 2 {
		t.Errorf("got %+v %v, want two commits", list, err)
	}
	if _, err := r.Blame(t.Context(), "a.go", 1); err != nil {
		t.Error(err)
	}
	if tree, err := r.Tree(t.Context()); err != nil || tree.Branch != "main" {
		t.Errorf("got %+v %v", tree, err)
	}
	if _, err := r.Before(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	lines, err := r.Changed(t.Context(), "main", []string{"a.go"})
	if err != nil || lines["a.go"] != (git.Lines{Added: 1}) {
		t.Errorf("got %+v %v, want a line", lines, err)
	}
	ran, err := filepath.Glob(filepath.Join(out, "[^g]*"))
	must(t, err)
	if more, _ := filepath.Glob(filepath.Join(out, "gpg")); len(ran)+len(more) > 0 {
		t.Errorf("programs of the repository ran: %v", append(ran, more...))
	}
}

// TestTree has files with names that git quotes, in all states.
func TestTree(t *testing.T) {
	dir := repository(t)
	r := open(t, dir)
	if tree, err := r.Tree(t.Context()); err != nil || tree.Branch != "main" || tree.Head != "" || len(tree.Dirty) > 0 {
		t.Errorf("before the first commit: got %+v %v", tree, err)
	}
	if id, err := r.Before(t.Context(), time.Now()); err == nil {
		t.Errorf("before the first commit: got the commit %q", id)
	}
	do(t, dir, `printf 'a\n' >'a b'; printf 'b\n' >gone; printf '\0' >bin; printf 'x\n' >same; echo ignored >.gitignore`,
		"git add .; git commit -qm one; git tag first", `printf 'c\nd\n' >'a b'; rm gone; printf '\0\1' >bin`,
		`mkdir new; touch new/x ignored "two
lines"; printf 'x\ny\n' >added; git add added`)
	tree, err := r.Tree(t.Context())
	must(t, err)
	want := []git.Dirty{{Path: "a b"}, {Path: "added"}, {Path: "bin"}, {Path: "gone"}, {Path: "new/", Untracked: true},
		{Path: "two\nlines", Untracked: true}}
	if !slices.Equal(tree.Dirty, want) || tree.More {
		t.Errorf("got %+v, want %+v", tree.Dirty, want)
	}
	head, err := r.Resolve(t.Context(), "first")
	must(t, err)
	if tree.Head != head {
		t.Errorf("got the commit %s, want %s", tree.Head, head)
	}
	lines, err := r.Changed(t.Context(), "first", []string{"a b", "gone", "bin", "same", "added", "two\nlines"})
	must(t, err)
	if got := fmt.Sprint(lines); got != "map[a b:{2 1} added:{2 0} gone:{0 1}]" {
		t.Errorf("got lines %s", got)
	}
	at := time.Date(2026, 11, 20, 10, 0, 1, 0, time.UTC)
	for when, want := range map[time.Time]string{at: head, at.Add(-time.Second): ""} {
		if got, err := r.Before(t.Context(), when); err != nil || got != want {
			t.Errorf("before %s: got %q %v, want %q", when, got, err, want)
		}
	}
	do(t, dir, "git stash -q; git checkout -q --detach; echo z >same; git commit -qam two")
	if tree, err := r.Tree(t.Context()); err != nil || tree.Branch != "" {
		t.Errorf("without a branch: got %+v %v", tree, err)
	}
	for base, want := range map[string]int{"": 2, "first": 1} {
		if list, err := r.Between(t.Context(), base, "HEAD", 10); err != nil || len(list) != want {
			t.Errorf("from %q: got %d commits %v, want %d", base, len(list), err, want)
		}
	}
}

// TestFarTimes reads a commit whose times RFC 3339 can't express.
func TestFarTimes(t *testing.T) {
	for _, at := range []string{"9999999999999", "99999999999999999999"} {
		dir := repository(t, "printf x > a; git add .; git commit -qm one",
			"git cat-file commit HEAD | sed 's/> [0-9]* /> "+at+
				" /' | git hash-object -t commit -w --literally --stdin > .git/id", "git update-ref refs/heads/main $(cat .git/id)")
		c, err := open(t, dir).Commit(t.Context(), "main")
		if err != nil || c.Subject != "one" || !c.AuthoredAt.IsZero() && c.AuthoredAt.Year() > 9999 ||
			!c.CommittedAt.IsZero() && c.CommittedAt.Year() > 9999 {
			t.Errorf("%s: got %+v, %v, want no time", at, c, err)
		}
	}
}
