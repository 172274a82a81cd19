package gate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// TestGitRunsNoProgram checks that git runs no program that the settings of a
// repository name.
func TestGitRunsNoProgram(t *testing.T) {
	dir := repository(t)
	out := t.TempDir()
	program := func(name string) string { return fmt.Sprintf("touch %s/%s; cat", out, name) }
	hook := "#!/bin/sh\n" + program("hook") + "\n"
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(strings.Join([]string{
		"[core]", "repositoryformatversion = 1", "fsmonitor = \"" + program("fsmonitor") + "\"", "sshCommand = \"" +
			program("ssh") + "\"", "pager = \"" + program("pager") + "\"",
		"[extensions]", "partialClone = evil", "worktreeConfig = true",
		"[remote \"evil\"]", "url = \"ext::" + program("transport") + "\"", "promisor = true",
		"[protocol]", "allow = always",
		"[diff]", "external = \"" + program("external") + "\"",
		"[diff \"d\"]", "command = \"" + program("diff") + "\"", "textconv = \"" + program("textconv") + "\"",
		"[filter \"f\"]", "clean = \"" + program("clean") + "\"", "required = true",
		"[filter \"a=b\"]", "clean = \"" + program("equals") + "\"",
		"[filter \"p\"]", "process = \"" + program("process") + "\"",
		"[include]", "path = more",
	}, "\n")), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, ".git", "more"),
		[]byte("[filter \"i\"]\nclean = \""+program("included")+"\"\n"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config.worktree"),
		[]byte("[filter \"w\"]\nclean = \""+program("worktree")+"\"\n"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, ".gitattributes"),
		[]byte("a.go filter=f diff=d\nb.go filter=a=b\nold.go filter=p\nsub/c.go filter=i\nw.go filter=w\n"), 0o666))
	must(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o777))
	for _, name := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		must(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", name), []byte(hook), 0o777))
	}
	for _, name := range []string{"a.go", "b.go", "old.go", "sub/c.go"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o666))
	}
	r := gate.Repository{Git: git.Run, Workspace: dir}
	scope, err := r.Changes(t.Context(), "")
	if want := ".gitattributes a.go b.go old.go sub/c.go"; err != nil || strings.Join(scope.Changed, " ") != want {
		t.Errorf("got %q %v, want %s", scope.Changed, err, want)
	}
	for _, commit := range []string{"main", strings.Repeat("1", 40)} { // a missing object would be fetched
		if err := r.LookUp(t.Context(), &scope, map[string]any{"branch": "main", "commit_sha": commit}); err != nil {
			t.Error(err)
		}
	}
	b, err := git.Run(t.Context(), dir, "rev-parse", "main")
	must(t, err)
	must(t, r.LookUp(t.Context(), &scope, map[string]any{"branch": "main", "commit_sha": strings.TrimSpace(string(b))}))
	ran, err := filepath.Glob(filepath.Join(out, "*"))
	must(t, err)
	if len(ran) > 0 {
		t.Errorf("programs of the repository ran: %v", ran)
	}
}

// TestMerge checks what the gate of a merge says about branches and commits.
func TestMerge(t *testing.T) {
	template := repository(t)
	for _, tt := range []struct {
		name, commands string
		branch, commit string // commit is a revision
		want           string
	}{
		{"the change is committed on the branch", work, "work", "work", ""},
		{"an abbreviated commit", work, "work", "work:7", ""},
		{"a branch of the remote", work + "; git update-ref refs/remotes/origin/there work", "there", "work", ""},
		{"no such branch", work, "nosuch", "work", "branch_exists"},
		{"no such commit", work, "work", "deadbeef", "commit_exists"},
		{"an expression in place of a branch", work, "work~0", "work", "branch_exists"},
		{"a branch of another path", work + "; git tag v2", "../tags/v2", "work", "branch_exists"},
		{"a tag in place of a branch", work + "; git tag v1", "v1", "work", "branch_exists"},
		{"a name in place of a commit", work + "; git branch deadbeef", "work", "=deadbeef", "commit_exists"},
		{"a commit of another branch", work + "; git switch -q -c other; echo y > b.go; git commit -q -am three; git " +
			"switch -q work", "work", "other", "commit_on_branch"},
		{"the commit before the change", work, "work", "main", "commit_has_change"},
		{"a later change is not committed", work + "; echo y > a.go", "work", "work", "commit_has_change"},
		{"a planned file is not tracked", "git switch -q -c work; git rm -q --cached a.go; git commit -q -m two", "work",
			"work", "commit_has_change"},
		{"merged, and the branch is gone", work + "; git switch -q main; git merge -q work; git branch -q -D work", "work",
			"main", "scope_missing? branch_exists?"},
		{"merged, and nothing was changed", "git commit -q --allow-empty -m two; git switch -q -c work", "work", "main",
			"scope_missing? commit_has_change"},
		{"flags", work, "--help", "=--help", "commit_exists branch_exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS(template)))
			do(t, dir, tt.commands)
			r := gate.Repository{Git: git.Run, Workspace: dir}
			scope, err := r.Changes(t.Context(), "main")
			must(t, err)
			files := done("plan implement test review git", "git",
				fmt.Sprintf(`{"branch":%q,"commit_sha":%q,"commit_message":"m"}`, tt.branch, resolve(t, dir, tt.commit)))
			a := read(t, builtin(), files)
			must(t, r.LookUp(t.Context(), &scope, a.Outputs["git"].Report.Value))
			if v := gate.Check(builtin(), "git", a, &scope); checks(v) != tt.want {
				t.Errorf("got %s, want %s\n%s", checks(v), tt.want, v)
			}
		})
	}
}

// work commits the change of the plan on a branch.
const work = "git switch -q -c work; echo x > a.go; git commit -q -am two"

// resolve returns the ID of a revision, abbreviated to the number after a colon,
// or the text itself if it is no revision or follows an equals sign.
func resolve(t *testing.T, dir, revision string) string {
	t.Helper()
	if name, ok := strings.CutPrefix(revision, "="); ok {
		return name
	}
	name, short, _ := strings.Cut(revision, ":")
	b, err := git.Run(t.Context(), dir, "rev-parse", "--verify", "--quiet", name)
	if err != nil {
		return revision
	}
	id := strings.TrimSpace(string(b))
	if short != "" {
		return id[:7]
	}
	return id
}

// TestOwnFolders checks that what handoff writes is not a change.
func TestOwnFolders(t *testing.T) {
	dir := repository(t)
	do(t, dir, "mkdir -p .pipeline/42 .handoff/log docs/agent-outputs/x docs/agent-outputs-2",
		"touch .pipeline/42/plan.json .handoff/log/1 docs/agent-outputs/x/manifest.json docs/agent-outputs-2/x docs/x",
		"git switch -q -c work", "git add -A", "git commit -q -m two", "echo x > docs/agent-outputs/x/out.md")
	r := gate.Repository{Git: git.Run, Workspace: dir,
		Own: []string{".pipeline", ".handoff", "", ".", "docs/agent-outputs"}}
	scope, err := r.Changes(t.Context(), "")
	if want := "docs/agent-outputs-2/x docs/x"; err != nil || strings.Join(scope.Changed, " ") != want {
		t.Errorf("got %q %v, want %s", scope.Changed, err, want)
	}
}
