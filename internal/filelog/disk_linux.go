package filelog

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// unnamed is a temporary without a name: it disappears with its process.
type unnamed struct {
	f *os.File
	s *system
}

// createUnnamed opens an unnamed file on the log's file system, or returns
// errors.ErrUnsupported.
func createUnnamed(s *system) (temporary, *os.File, error) {
	dir := s.path("log")
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, recordMode)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, nil, errors.ErrUnsupported
	case err != nil:
		return nil, nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	if _, err := os.Lstat("/proc/self/fd"); err != nil {
		f.Close()
		return nil, nil, errors.ErrUnsupported // it could not be linked
	}
	return &unnamed{f, s}, f, nil
}

func (t *unnamed) sync() error           { return t.f.Sync() }
func (t *unnamed) linked() (bool, error) { return moreLinks(t.f, 0) }
func (t *unnamed) close() error          { return t.f.Close() }

func (t *unnamed) link(name string) error {
	self := "/proc/self/fd/" + strconv.Itoa(int(t.f.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, t.s.path(name), unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: self, New: name, Err: err}
	}
	return nil
}
