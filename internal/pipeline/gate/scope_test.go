package gate_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// repository creates a git repository with one commit on main.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	do(t, dir, "git init -q -b main", "git config user.name n", "git config user.email e@example.com",
		"git config commit.gpgsign false",
		"mkdir sub", "touch a.go b.go old.go sub/c.go", "git add .", "git commit -q -m one")
	return dir
}

func do(t *testing.T, dir string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		c := exec.Command("sh", "-c", command)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

func TestChanges(t *testing.T) {
	template := repository(t)
	for _, tt := range []struct {
		name     string
		commands string
		folder   string // the workspace, in the repository
		base     string
		want     string
	}{
		{"nothing", "true", "", "", ""},
		{"not staged", "echo x > a.go", "", "", "a.go"},
		{"staged", "echo x > a.go; git add a.go", "", "", "a.go"},
		{"untracked", "echo x > new.go", "", "", "new.go"},
		{"ignored", "echo '*.log' > .gitignore; touch x.log", "", "", ".gitignore"},
		{"committed on a branch", "git switch -q -c work; echo x > a.go; git commit -q -am two", "", "", "a.go"},
		{"committed on main, since a commit", "echo x > a.go; git commit -q -am two; echo x > b.go; git commit -q -am three",
			"", "HEAD~1", "b.go"},
		{"committed on a branch of trunk", "git branch -m trunk; git switch -q -c work; echo x > a.go; git commit -q -am two",
			"", "", "a.go"},
		{"committed on a branch of the default", "git config init.defaultBranch prod; git branch -m prod; git switch -q -c " +
			"work; echo x > a.go; git commit -q -am two", "", "", "a.go"},
		{"committed beside the only branch",
			"git branch -m prod; git switch -q --detach; echo x > a.go; git commit -q -am two", "", "", "a.go"},
		{"the only branch", "git branch -m prod; echo x > a.go", "", "", "a.go"},
		{"main has new commits", "git switch -q -c work; echo x > a.go; git commit -q -am two; git switch -q main; echo x " +
			"> b.go; git commit -q -am three; git switch -q work", "", "main", "a.go"},
		{"staged, then undone in the working tree", "echo x > a.go; git add a.go; git show HEAD:a.go > a.go", "", "", "a.go"},
		{"committed, then undone in the working tree",
			"git switch -q -c work; echo x > a.go; git commit -q -am two; git show main:a.go > a.go", "", "", "a.go"},
		{"committed, then undone in the index",
			"git switch -q -c work; echo x > a.go; git commit -q -am two; git checkout -q main -- a.go", "", "", "a.go"},
		{"renamed", "git mv old.go newer.go", "", "", "newer.go old.go"},
		{"deleted", "rm a.go", "", "", "a.go"},
		{"strange names", "printf x > \"$(printf 'e\\303\\251 \\n\\042.go')\"", "", "", "e\u00e9 \n\".go"},
		{"a folder of the repository", "echo x > sub/c.go; echo x > a.go; echo x > sub/new.go", "sub", "",
			"../a.go c.go new.go"},
		{"relative by configuration", "git config diff.relative true; echo x > a.go; echo x > sub/c.go", "sub", "",
			"../a.go c.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS(template)))
			do(t, dir, tt.commands)
			got, err := gate.Repository{Git: git.Run, Workspace: filepath.Join(dir, tt.folder)}.Changes(t.Context(), tt.base)
			if err != nil || strings.Join(got.Changed, " ") != tt.want {
				t.Errorf("got %q %v, want %q", got.Changed, err, tt.want)
			}
		})
	}
}

func TestChangesBeforeTheFirstCommit(t *testing.T) {
	dir := t.TempDir()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	do(t, dir, "git init -q", "touch a.go b.go", "git add a.go")
	got, err := gate.Repository{Git: git.Run, Workspace: dir}.Changes(t.Context(), "")
	if err != nil || strings.Join(got.Changed, " ") != "a.go b.go" || got.Base != "" {
		t.Errorf("got %+v %v, want a.go b.go", got, err)
	}
}

func TestChangesErrors(t *testing.T) {
	dir := repository(t)
	for _, tt := range []struct {
		name, dir, base string
		git             gate.Git
		want            handoff.Kind
	}{
		{"no repository", t.TempDir(), "", git.Run, handoff.NotFound},
		{"no such base", dir, "nowhere", git.Run, handoff.Invalid},
		{"a flag as base", dir, "--output=x", git.Run, handoff.Invalid},
		{"no git", dir, "", func(context.Context, string, ...string) ([]byte, error) {
			return nil, exec.ErrNotFound
		}, handoff.Unavailable},
		{"git breaks", dir, "", func(ctx context.Context, dir string, args ...string) ([]byte, error) {
			if args[0] == "diff" {
				return nil, errors.New("broken")
			}
			return git.Run(ctx, dir, args...)
		}, handoff.Unavailable},
	} {
		if got, err := (gate.Repository{Git: tt.git, Workspace: tt.dir}).Changes(t.Context(), tt.base); !errors.Is(err,
			tt.want) {
			t.Errorf("%s: got %v %v, want kind %s", tt.name, got, err, tt.want)
		}
	}
	do(t, dir, "git branch -m prod", "git switch -q -c work")
	if got, err := (gate.Repository{Git: git.Run, Workspace: dir}).Changes(t.Context(), ""); !errors.Is(err,
		handoff.Invalid) {
		t.Errorf("two branches, and none is known as the main one: got %v %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("the base was used as a flag")
	}
}

// TestScopeOfARepository checks that the gate finds a change in each state: not
// staged, staged, untracked and committed.
func TestScopeOfARepository(t *testing.T) {
	t.Parallel()
	template := repository(t)
	for _, hide := range []string{
		"echo x > b.go", "echo x > b.go; git add b.go", "echo x > hidden.go",
		"git switch -q -c work; echo x > b.go; git add b.go; git commit -q -m two",
	} {
		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS(template)))
		do(t, dir, hide, "echo x > a.go")
		scope, err := gate.Repository{Git: git.Run, Workspace: dir}.Changes(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := checks(gate.Check(builtin(), "implement", read(t, builtin(), done("plan implement")),
			&scope)); got != "scope_extra" {
			t.Errorf("%s: got %s, want scope_extra", hide, got)
		}
	}
}
