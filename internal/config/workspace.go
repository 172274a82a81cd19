package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
)

// runtimeName is the name of the runtime directory, at the workspace's root.
const runtimeName = ".handoff"

// A Workspace is a directory tree in which agents work together.
type Workspace struct {
	Root    string // absolute, without symbolic links
	Runtime string // the runtime directory, which need not exist
	Linked  string // the name of the linked git worktree that Root is, or ""

	common string // what all worktrees of its repository share, "" outside git
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
	w := Workspace{Root: real, Runtime: filepath.Join(real, runtimeName)}
	if git, ok := readGit(real); ok {
		w.common, w.Linked = git.common, git.worktree
		if git.worktree != "" {
			w.Runtime = git.runtime()
		}
	}
	if moved := getenv("HANDOFF_DIR"); moved != "" {
		w.Runtime = under(dir, moved)
	}
	w.Runtime = resolve(w.Runtime)
	return w, nil
}

// resolve follows the symbolic links of that part of a path that exists.
func resolve(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil || name == filepath.Dir(name) {
		return cmp.Or(real, name)
	}
	return filepath.Join(resolve(filepath.Dir(name)), filepath.Base(name))
}

func notFound(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return &handoff.Error{Op: "open workspace", Name: root, Kind: handoff.NotFound, Err: err,
		Hint: handoff.Advice("name an existing directory, for example with HANDOFF_WORKSPACE")}
}

func above(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, runtimeName)); err == nil && info.IsDir() {
			return at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
