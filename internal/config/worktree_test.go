package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runGit runs git in dir, without the user's settings.
func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func nothing(string) string { return "" }

func TestWorktrees(t *testing.T) {
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(tmp, name) }
	runGit(t, tmp, "init", "-q", "main")
	runGit(t, at("main"), "commit", "-q", "--allow-empty", "-m", "first")
	runGit(t, at("main"), "worktree", "add", "-q", at("linked"))
	runGit(t, tmp, "clone", "-q", "--bare", "main", "bare.git")
	runGit(t, at("bare.git"), "worktree", "add", "-q", at("of-bare"))
	runGit(t, at("main"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at("main"), "sub")
	if err := os.MkdirAll(at("linked/deep/down"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dir, root, runtime, linked string }{
		{"main", "main", "main/.handoff", ""},
		{"linked", "linked", "main/.handoff", "linked"},
		{"linked/deep/down", "linked", "main/.handoff", "linked"},
		{"of-bare", "of-bare", "bare.git/handoff", "of-bare"},
		{"main/sub", "main/sub", "main/sub/.handoff", ""},
	} {
		w, err := Find(at(tt.dir), nothing)
		if err != nil {
			t.Fatal(err)
		}
		if w.Root != at(tt.root) || w.Runtime != at(tt.runtime) || w.Linked != tt.linked {
			t.Errorf("Find(%s) = %s, %s, %q\nwant %s, %s, %q", tt.dir, w.Root, w.Runtime, w.Linked, at(tt.root), at(tt.runtime),
				tt.linked)
		}
	}
	w, err := Find(at("main"), nothing)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": at("main"), "linked": at("linked"), "gone": "", "../../x": ""} {
		if got := w.Worktree(name); got != want {
			t.Errorf("Worktree(%q) = %q, want %q", name, got, want)
		}
	}
	runGit(t, at("main"), "worktree", "remove", at("linked"))
	if got := w.Worktree("linked"); got != "" {
		t.Errorf("Worktree of a removed one = %q, want none", got)
	}
	if w, err = Find(at("of-bare"), nothing); err != nil || w.Worktree("") != "" ||
		w.Worktree("of-bare") != at("of-bare") {
		t.Errorf("of a bare repository: main %q, linked %q, %v", w.Worktree(""), w.Worktree("of-bare"), err)
	}
}

// TestBranch reads the branch of worktrees. The HEAD of a repository that stores refs as
// reftable names no branch.
func TestBranch(t *testing.T) {
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, linked := filepath.Join(tmp, "main"), filepath.Join(tmp, "linked")
	runGit(t, tmp, "init", "-q", "-b", "trunk", "main")
	runGit(t, main, "commit", "-q", "--allow-empty", "-m", "first")
	runGit(t, main, "worktree", "add", "-q", "-b", "team/fix", linked)
	for _, tt := range []struct{ dir, head, want string }{
		{main, "", "trunk"}, {linked, "", "team/fix"}, {main, "0123456789012345678901234567890123456789", ""},
		{main, "ref: refs/heads/.invalid", ""}, {main, "ref: refs/tags/x", ""},
	} {
		if tt.head != "" {
			if err := os.WriteFile(filepath.Join(tt.dir, ".git/HEAD"), []byte(tt.head+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		w, err := Find(tt.dir, nothing)
		if err != nil || w.Branch() != tt.want {
			t.Errorf("the branch of %s with HEAD %q = %q, %v, want %q", tt.dir, tt.head, w.Branch(), err, tt.want)
		}
	}
}
