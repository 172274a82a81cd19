package names

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
)

// artifactsDir is the directory of all namespaces, in a session's.
const artifactsDir = "artifacts"

// errInTheWay says that a path is no plain file or directory: what lies behind
// a symbolic link belongs to someone else.
type errInTheWay struct{ name string }

func (e errInTheWay) Error() string {
	return e.name + " is in the way: it is no plain file or directory"
}

// folders returns the way from Dir to a namespace's files.
func (s Scope) folders(namespace string) []string {
	if s.Folders != nil {
		return s.Folders
	}
	return []string{artifactsDir, Folder(namespace)}
}

// path returns the directory of a namespace's files.
func (s Scope) path(namespace string) string {
	return filepath.Join(append([]string{s.Dir}, s.folders(namespace)...)...)
}

// open opens a directory below the session's, which no symbolic link may
// replace. Its error is fs.ErrNotExist where there is none.
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

// make is open for the directory of a namespace, which it makes where it is
// missing.
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

// session opens the session's directory. A symbolic link on the way to it may
// not lead out of the directory that it lies within.
func (s Scope) session(make bool) (*os.Root, error) {
	if s.Dir == "" {
		return nil, &handoff.Error{Op: "name", Kind: handoff.Invalid, Err: errors.New("there is no session directory"), Hint: handoff.Advice("say which with HANDOFF_SESSION_DIR")}
	}
	within, below := s.Dir, "."
	if s.Within != "" {
		var err error
		if below, err = filepath.Rel(s.Within, s.Dir); err != nil || !filepath.IsLocal(below) {
			return nil, &handoff.Error{Op: "name", Name: s.Dir, Kind: handoff.Invalid, Err: fmt.Errorf("is not below %s", s.Within),
				Hint: handoff.Advice("handoff config explain session_folder tells how it was made")}
		}
		within = s.Within
	}
	if make && s.Within == "" {
		if err := os.MkdirAll(within, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(within)
	if err != nil || below == "." {
		return root, err
	}
	defer root.Close()
	if make {
		if err := root.MkdirAll(below, 0o777); err != nil {
			return nil, err
		}
	}
	dir, err := root.OpenRoot(below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = errInTheWay{s.Dir}
	}
	return dir, err
}

// plainDir opens a directory, unless it is none or a symbolic link takes its
// place.
func plainDir(above *os.Root, name string) (*os.Root, error) {
	info, err := above.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errInTheWay{filepath.Join(above.Name(), name)}
	}
	dir, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(info, opened) {
		dir.Close()
		return nil, errInTheWay{filepath.Join(above.Name(), name)}
	}
	return dir, nil
}
