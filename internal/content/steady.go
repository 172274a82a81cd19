package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
)

var errChanging = errors.New("changes while it is read")

// A steadyFile is an open regular file. Reading fails with errChanging once it
// is no longer what it was when it was opened.
type steadyFile struct {
	ctx context.Context
	f   *os.File
	was fs.FileInfo
}

func openSteady(ctx context.Context, root *os.Root, name string) (*steadyFile, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took the file's place must not block
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
	return &steadyFile{ctx, f, info}, nil
}

func (s *steadyFile) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.f.Read(p)
	if now, stat := s.f.Stat(); stat != nil || now.Size() != s.was.Size() || !now.ModTime().Equal(s.was.ModTime()) {
		return 0, &handoff.Error{Op: "read", Name: filepath.Base(s.f.Name()), Kind: handoff.Conflict, Err: cmp.Or(stat, errChanging),
			Hint: handoff.Advice("read it again once its writer is done")}
	}
	return n, err
}

func (s *steadyFile) Seek(offset int64, whence int) (int64, error) { return s.f.Seek(offset, whence) }
func (s *steadyFile) Close() error                                 { return s.f.Close() }

// settled is the age from which a file's time tells that it was not written
// since: times are coarse, and a younger file may change within the same one.
const settled = 2 * time.Second

// fingerprint tells a file from others, and from itself before it was written,
// or is "" where that can't be told.
func (s *Files) fingerprint(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Now == nil || s.Now().Sub(info.ModTime()) < settled || info.IsDir() {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), stat.Ino)
}

// readerOf returns r, ending with ctx.
func readerOf(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
