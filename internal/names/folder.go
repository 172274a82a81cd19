package names

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// artifactsDir is the directory of all namespaces, in a session's directory.
const artifactsDir = "artifacts"

// A notPlainError is returned for a path that is not a plain file or directory.
// The target of a symbolic link may belong to somebody else.
type notPlainError struct{ name string }

func (e notPlainError) Error() string { return e.name + " is not a plain file or directory" }

// folders returns the path from Dir to the files of a namespace.
func (s Scope) folders(namespace string) []string {
	if s.Folders != nil {
		return s.Folders
	}
	return []string{artifactsDir, Folder(namespace)}
}

// path returns the directory of the files of a namespace.
func (s Scope) path(namespace string) string {
	return filepath.Join(append([]string{s.Dir}, s.folders(namespace)...)...)
}

// open opens a directory in the session's directory without following symbolic
// links. It returns fs.ErrNotExist if there is none.
func (s Scope) open(names ...string) (*os.Root, error) {
	dir, err := s.session(false)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = plainDir(dir, name)
		dir.Close()
		dir = next
	}
	return dir, err
}

// make opens the directory of a namespace and creates it if it is missing.
func (s Scope) make(namespace string) (*os.Root, error) {
	dir, err := s.session(true)
	if err != nil {
		return nil, err
	}
	err = dir.MkdirAll(filepath.Join(s.folders(namespace)...), 0o777)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	return s.open(s.folders(namespace)...)
}

// session opens the session's directory, which must be inside s.Within after
// links are resolved.
func (s Scope) session(create bool) (*os.Root, error) {
	if s.Dir == "" {
		return nil, handoff.E("open session directory", "", handoff.Invalid, errors.New("no directory is set"),
			handoff.Hint{}.OrSet("HANDOFF_SESSION_DIR"))
	}
	within, rel := s.Dir, "."
	if s.Within == "" { // the environment names it; recorded folders were checked
		if err := safepath.Check(s.Dir); err != nil {
			return nil, handoff.E("open session directory", s.Dir, handoff.Invalid, err,
				handoff.Hint{}.OrSet("HANDOFF_SESSION_DIR to another directory"))
		}
	}
	if s.Within != "" {
		var err error
		if rel, err = filepath.Rel(s.Within, s.Dir); err != nil || !filepath.IsLocal(rel) {
			return nil, handoff.E("open session directory", s.Dir, handoff.Invalid,
				fmt.Errorf("directory is not inside %s", s.Within),
				handoff.Suggest("show how the directory is set", handoff.ActionExplain, "session_folder"))
		}
		within = s.Within
	}
	if create && s.Within == "" {
		if err := os.MkdirAll(within, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(within)
	if err != nil || rel == "." {
		return root, err
	}
	defer root.Close()
	if create {
		if err := root.MkdirAll(rel, 0o777); err != nil {
			return nil, err
		}
	}
	dir, err := root.OpenRoot(rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = notPlainError{s.Dir}
	}
	return dir, err
}

// plainDir opens a directory. It returns a notPlainError for anything else,
// also for a symbolic link that replaces the directory while it is being opened.
func plainDir(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	notPlain := notPlainError{filepath.Join(parent.Name(), name)}
	dir, err := parent.OpenRoot(name)
	if err != nil && info.IsDir() {
		return nil, err
	}
	if err != nil {
		return nil, notPlain
	}
	// A link never is the same file as its target.
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(info, opened) {
		dir.Close()
		return nil, notPlain
	}
	return dir, nil
}
