package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
)

var errChanging = errors.New("changed while it was read")

// A steadyFile is an open regular file. Reading fails with errChanging once its
// size or modification time has changed.
type steadyFile struct {
	ctx context.Context
	f   *os.File
	was fs.FileInfo
	n   int64 // bytes read

	at     int64                   // the position
	report func(done, total int64) // called with at and the size, may be nil
}

var _ handoff.FileBody = (*steadyFile)(nil)

// File implements handoff.FileBody.
func (s *steadyFile) File() *os.File { return s.f }

// changed returns errChanging if the file was written since it was opened.
func (s *steadyFile) changed() error {
	now, err := s.f.Stat()
	if err == nil && (now.Size() != s.was.Size() || !now.ModTime().Equal(s.was.ModTime())) {
		err = errChanging
	}
	return err
}

func openSteady(ctx context.Context, root *os.Root, name string) (*steadyFile, error) {
	// must not block if the file was replaced by a pipe
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errChanging
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &steadyFile{ctx: ctx, f: f, was: info}, nil
}

func (s *steadyFile) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.f.Read(p)
	if changed := s.changed(); changed != nil {
		return 0, handoff.E("read", filepath.Base(s.f.Name()), handoff.Conflict, changed,
			handoff.Advice("read it again when its writer has finished"))
	}
	s.n, s.at = s.n+int64(n), s.at+int64(n)
	if s.report != nil {
		s.report(s.at, s.was.Size())
	}
	return n, err
}

func (s *steadyFile) Seek(offset int64, whence int) (at int64, err error) {
	at, err = s.f.Seek(offset, whence)
	s.at = at
	return at, err
}
func (s *steadyFile) Close() error { return s.f.Close() }

// settledAge is the age from which an unchanged modification time shows that a
// file was not written, on a file system that stores times in milliseconds or
// seconds: a younger file may be written again within the same tick.
const settledAge = 2 * time.Second

// fingerprint identifies a file and its content by size, modification time and
// inode. It returns "" if the file is too young for that. Where times have
// nanoseconds no file is: since Linux 6.13 a write after a stat gets a new time,
// and before that the tick is 10 ms at most.
func (s *Files) fingerprint(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Now == nil || info.IsDir() {
		return ""
	}
	changed := info.ModTime()
	if coarse := changed.Nanosecond()%int(time.Millisecond) == 0; coarse && s.Now().Sub(changed) < settledAge {
		return ""
	}
	return fmt.Sprint(info.Size(), changed.UnixNano(), stat.Ino)
}
