package filelog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// A disk is what a log and its bodies need of a file system, so that a test can
// stop it at any step. Names are slash-separated and relative to the log's
// directory.
type disk interface {
	create(content io.Reader, mode fs.FileMode) (temporary, error)
	mkdir(name string) error
	link(old, new string) error
	exists(name string) (bool, error)
	syncDir(name string) error
}

// A temporary is a written file that has no final name yet.
type temporary interface {
	sync() error
	link(name string) error
	linked() (bool, error) // whether it has a name, whatever link returned
	close() error          // leaves only the names that it was linked to
}

// recordMode is the mode of a record, which never changes.
const recordMode = 0o444

// system is the disk of the operating system, in one directory.
type system struct {
	dir   string
	clean sync.Once // abandoned temporary files were removed
}

func newSystem(dir string) *system { return &system{dir: dir} }

func (s *system) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// create gives a temporary a name in log/tmp. An unnamed file would need none,
// but a file system without a journal loses a file that had no name when it was
// last synced, whatever names it got since.
func (s *system) create(content io.Reader, mode fs.FileMode) (temporary, error) {
	f, err := os.CreateTemp(s.path(tmpDir), temporaryPrefix)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.mkdir(tmpDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		f, err = os.CreateTemp(s.path(tmpDir), temporaryPrefix)
	}
	if err != nil {
		return nil, err
	}
	durable.Hold(f)
	s.clean.Do(func() { s.removeAbandoned(f) })
	t := &file{f, s}
	if _, err = io.Copy(f, content); err == nil {
		err = f.Chmod(mode)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// temporaryPrefix begins the name of every temporary file.
const temporaryPrefix = "record-"

// removeAbandoned removes the temporary files that are much older than a new one,
// by the clock of the file system: their processes have died.
func (s *system) removeAbandoned(created *os.File) {
	now, err := created.Stat()
	dir, failed := os.OpenRoot(s.path(tmpDir))
	if errors.Join(err, failed) != nil {
		return
	}
	defer dir.Close()
	entries, _ := os.ReadDir(dir.Name()) // what can't be listed stays
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporaryPrefix) {
			_ = durable.RemoveAbandoned(dir, e.Name(), now.ModTime())
		}
	}
}

func (s *system) mkdir(name string) error { return os.Mkdir(s.path(name), DirMode(s.dir)) }

func (s *system) link(old, new string) error { return os.Link(s.path(old), s.path(new)) }

func (s *system) exists(name string) (bool, error) {
	_, err := os.Lstat(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *system) syncDir(name string) error {
	d, err := os.Open(s.path(name))
	if err != nil {
		return err
	}
	defer d.Close() // an error here says nothing about what was synced
	return d.Sync()
}

// DirMode returns the mode of a new directory and of those in it: access for the
// owner, and for the group if the group may write to the parent directory.
func DirMode(dir string) fs.FileMode {
	if info, err := os.Stat(filepath.Dir(dir)); err == nil && info.Mode().Perm()&0o020 != 0 {
		return 0o770
	}
	return 0o700
}

// A file is a temporary of the operating system.
type file struct {
	f *os.File
	s *system
}

func (t *file) sync() error            { return t.f.Sync() }
func (t *file) link(name string) error { return os.Link(t.f.Name(), t.s.path(name)) }
func (t *file) close() error           { return errors.Join(t.f.Close(), os.Remove(t.f.Name())) }

func (t *file) linked() (bool, error) {
	info, err := t.f.Stat()
	if err != nil {
		return false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1, nil
}

// failure gives a file system error its kind and its hint.
func (l *Log) failure(op string, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) {
		return err
	}
	e := handoff.E(op, l.dir, handoff.Unavailable, durable.Reason(err),
		handoff.UnwritableHint(l.dir, err))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Hint = handoff.Corrupt, handoff.Suggest("list what is missing", handoff.ActionCheck)
		e.Err = errors.New("log directory is incomplete")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Hint = handoff.Advice("free disk space and retry; nothing was recorded")
	}
	return e
}

// reason returns the cause of an error without the operation and its subject.
func reason(err error) error {
	var known *handoff.Error
	if errors.As(err, &known) && known.Err != nil {
		return known.Err
	}
	return durable.Reason(err)
}
