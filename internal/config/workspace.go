package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// runtimeName is the name of the runtime directory, at the workspace's root.
const runtimeName = ".handoff"

// A Workspace is a directory tree in which agents work together.
type Workspace struct {
	Root    string // absolute, without symbolic links
	Runtime string // the runtime directory, which need not exist
	Linked  string // the name of the linked git worktree that Root is, or ""
	Named   bool   // HANDOFF_DIR names the runtime directory
	Missing string // the git directory that .git names, if it does not exist, or ""

	common string // what all worktrees of its repository share, "" outside git
	memory *memory
}

// Find returns the workspace of a directory: the nearest one above it that has
// a runtime directory, but not beyond the root of its git repository; else
// that root; else the directory itself. HANDOFF_WORKSPACE names another,
// HANDOFF_DIR moves the runtime directory. Linked git worktrees share the main
// one's runtime directory, so that recycling a worktree loses no record.
//
// Its kinds are NotFound and Invalid.
func Find(dir string, getenv func(string) string) (Workspace, error) {
	root := getenv("HANDOFF_WORKSPACE")
	if root == "" {
		if _, err := os.Stat(dir); err != nil {
			return Workspace{}, notFound(dir, err)
		}
		root = above(dir)
	} else if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Workspace{}, notFound(root, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return Workspace{}, notFound(root, errors.New("not a directory"))
	}
	w := Workspace{Root: real, Runtime: filepath.Join(real, runtimeName), memory: &memory{state: userdir.State(getenv)}}
	if git, ok := readGit(real); ok {
		w.common, w.Linked = git.common, git.worktree
		if git.missing {
			w.Missing = git.common
		}
		if git.worktree != "" {
			w.Runtime = git.runtime()
		}
	}
	if moved := getenv("HANDOFF_DIR"); moved != "" {
		w.Runtime, w.Named = Resolve(under(dir, moved)), true
		return w, nil
	}
	// The last element may be a link that a repository brought.
	w.Runtime = filepath.Join(Resolve(filepath.Dir(w.Runtime)), filepath.Base(w.Runtime))
	return w, nil
}

// Without returns an environment without some variables.
func Without(getenv func(string) string, names ...string) func(string) string {
	return func(name string) string {
		if slices.Contains(names, name) {
			return ""
		}
		return getenv(name)
	}
}

// Resolve follows the symbolic links of that part of a path that exists.
func Resolve(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil || name == filepath.Dir(name) {
		return cmp.Or(real, name)
	}
	return filepath.Join(Resolve(filepath.Dir(name)), filepath.Base(name))
}

func notFound(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return handoff.E("open workspace", root, handoff.NotFound, err,
		handoff.Advice("name an existing directory").OrSet("HANDOFF_WORKSPACE"))
}

// above returns the root of the workspace that a directory is in. A runtime
// directory above dir counts only inside the repository of dir, or if it belongs
// to the user: anybody can leave one in a shared directory.
func above(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, runtimeName)); err == nil && info.IsDir() {
			if at == dir || isOwn(info) || inRepository(at) {
				return at
			}
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// inRepository reports whether a directory is in a git repository.
func inRepository(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
