package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A gitDir describes a worktree, as recorded in the files of its git repository.
// The git program is not used: it may be missing, and it is slow to start.
type gitDir struct {
	common   string // the directory that all worktrees of the repository share
	worktree string // the name of a linked worktree, "" for the main one
	missing  bool   // the .git names a directory that does not exist
}

// readGit reads the .git of a worktree. A submodule's git directory is in another
// place too, but it is not shared: a submodule is not a linked worktree.
func readGit(root string) (gitDir, bool) {
	name := filepath.Join(root, ".git")
	info, err := os.Lstat(name)
	if err != nil {
		return gitDir{}, false
	}
	if info.IsDir() {
		return gitDir{common: name}, true
	}
	own, ok := readLine(name, "gitdir: ")
	if !ok {
		return gitDir{}, false
	}
	own = under(root, own)
	shared, linked := readLine(filepath.Join(own, "commondir"), "")
	if !linked {
		_, err := os.Stat(own)
		return gitDir{common: own, missing: errors.Is(err, fs.ErrNotExist)}, true
	}
	return gitDir{common: under(own, shared), worktree: filepath.Base(own)}, true
}

// runtime returns the runtime directory of the repository that the worktree
// belongs to: the main worktree's, or one inside a bare repository.
func (g gitDir) runtime() string {
	if filepath.Base(g.common) == ".git" {
		return filepath.Join(filepath.Dir(g.common), runtimeName)
	}
	return filepath.Join(g.common, strings.TrimPrefix(runtimeName, "."))
}

// Worktree returns the path of a linked worktree of the workspace's repository,
// or of the main one for "". It is "" if the worktree no longer exists.
func (w Workspace) Worktree(name string) string {
	if name == w.Linked {
		return w.Root
	}
	if w.common == "" {
		return ""
	}
	if name == "" {
		if filepath.Base(w.common) == ".git" {
			return filepath.Dir(w.common)
		}
		return ""
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return ""
	}
	git, ok := readLine(filepath.Join(w.common, "worktrees", name, "gitdir"), "")
	if !ok {
		return ""
	}
	return filepath.Dir(under(filepath.Join(w.common, "worktrees", name), git))
}

// Worktrees returns the roots of all worktrees of the workspace's repository, only the root of the
// workspace outside git, and then the directories that are gone and were such roots, as far as
// they are remembered.
func (w Workspace) Worktrees() []string { return w.withFormer(w.existing()) }

// existing returns the roots of the worktrees as git knows them, which may be gone.
func (w Workspace) existing() []string {
	roots := []string{w.Root}
	add := func(root string) {
		if root != "" && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	if w.common == "" {
		return roots
	}
	add(w.Worktree(""))
	linked, _ := os.ReadDir(filepath.Join(w.common, "worktrees")) // empty if the directory does not exist
	for _, e := range linked {
		if root := w.Worktree(e.Name()); root != "" && !w.isOther(root) {
			add(root)
		}
	}
	return roots
}

// isOther reports whether a directory is the root of a worktree of another repository.
func (w Workspace) isOther(root string) bool {
	g, ok := readGit(root)
	if !ok {
		return false
	}
	theirs, err := os.Stat(g.common)
	own, failed := os.Stat(w.common)
	return err == nil && failed == nil && !os.SameFile(theirs, own)
}

// maxBranch is the length of the name of a branch, in bytes.
const maxBranch = 250

// Branch returns the branch that is checked out in the worktree of the workspace, "" for
// none or one whose name is too long to record. One of a repository that stores its refs as
// reftable is not known.
func (w Workspace) Branch() string {
	dir := w.common
	if w.Linked != "" {
		dir = filepath.Join(w.common, "worktrees", w.Linked)
	}
	if dir == "" {
		return ""
	}
	branch, ok := readLine(filepath.Join(dir, "HEAD"), "ref: refs/heads/")
	const inReftable = ".invalid" // what HEAD has there
	if !ok || branch == inReftable || len(branch) > maxBranch || !utf8.ValidString(branch) {
		return ""
	}
	return branch
}

// readLine returns the first line of a small regular file, without its prefix.
func readLine(name, prefix string) (string, bool) {
	b, err := plainfile.ReadLinked(name, 64<<10)
	if err != nil {
		return "", false
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.CutPrefix(strings.TrimSuffix(line, "\r"), prefix)
}

func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
