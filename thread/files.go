package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// Home returns the Driver.Roots of a tool that keeps its files in dir, relative
// to the user's home directory, unless the environment variable env is set.
func Home(env, dir string) func(getenv func(string) string, home string) []string {
	return func(getenv func(string) string, home string) []string {
		if moved := getenv(env); moved != "" {
			return []string{moved}
		}
		return []string{filepath.Join(home, filepath.FromSlash(dir))}
	}
}

// DataHome returns the directory of a tool in the user's data directory, as the
// XDG Base Directory Specification defines it.
func DataHome(getenv func(string) string, home, tool string) string {
	return filepath.Join(cmp.Or(getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), tool)
}

// searchHint returns advice to search other directories.
func searchHint(env ...string) string {
	env = slices.Compact(slices.DeleteFunc(env, func(name string) bool { return name == "" }))
	if len(env) == 0 {
		return uriHint
	}
	if len(env) > 1 {
		return "to search other directories, set one of " + strings.Join(env, ", ")
	}
	return "to search other directories, set " + env[0]
}

// UnreadableError returns the error for a file that can't be read: NotFound if
// it does not exist, else Unavailable. An error that has a kind keeps it.
func UnreadableError(name string, err error) error {
	if known := new(handoff.Error); errors.As(err, &known) {
		return err
	}
	if at := new(fs.PathError); errors.As(err, &at) && at.Path == name {
		err = at.Err
	}
	kind, hint := handoff.Unavailable, "the tool that wrote it may have moved or locked it"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = handoff.NotFound
	case errors.Is(err, fs.ErrPermission):
		hint = "check the permissions of the file and its directories"
	}
	return handoff.E("read thread", name, kind, err, handoff.Advice(hint))
}

var errNotRegular = errors.New("not a regular file")

// IsRegular reports whether an entry of dir is a regular file or a link to one, so
// that reading it can't block.
func IsRegular(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		return err == nil && info.Mode().IsRegular()
	}
	return e.Type().IsRegular()
}

// A File is an open transcript. It ends where it ended when it was opened, so that
// reading ends while the tool is writing.
type File struct {
	*io.SectionReader
	f *os.File
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// OpenFile opens a regular file for reading. The error is an UnreadableError.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // must not wait for the writer of a pipe
	if err != nil {
		return nil, UnreadableError(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, UnreadableError(path, err)
	}
	return &File{io.NewSectionReader(f, 0, info.Size()), f}, nil
}

// A Walk reads directories and the ends of files. It collects errors for Err and
// stops reading when its context is done.
type Walk struct {
	ctx    context.Context
	err    error // the first one, or that of the context
	failed int
	buf    []byte
	stats  map[string]FileStat // of StatFile, by path
}

// NewWalk returns a walk that ends with ctx.
func NewWalk(ctx context.Context) *Walk { return &Walk{ctx: ctx, stats: map[string]FileStat{}} }

// ReadDir returns the entries of dir by name, none if it is not a directory.
func (w *Walk) ReadDir(dir string) []fs.DirEntry {
	if w.Done() {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(dir) {
		w.fail(err)
	}
	return entries
}

// Stat returns the file at path, nil if there is none or on error.
func (w *Walk) Stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ENAMETOOLONG) {
			w.fail(err)
		}
		return nil
	}
	return info
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Done reports whether the context is done.
func (w *Walk) Done() bool {
	if w.ctx.Err() != nil {
		w.err, w.failed = w.ctx.Err(), 1
	}
	return w.ctx.Err() != nil
}

// fail records an error. A file that was removed in the meantime is less relevant
// than other errors.
func (w *Walk) fail(err error) {
	switch {
	case w.err == nil, errors.Is(w.err, fs.ErrNotExist):
		w.err, w.failed = err, 1
	case !errors.Is(err, fs.ErrNotExist):
		w.failed++
	}
}

// Open opens a file. It returns nil on error.
func (w *Walk) Open(path string) *File {
	if w.Done() {
		return nil
	}
	f, err := OpenFile(path)
	if err != nil {
		w.fail(err)
		return nil
	}
	return f
}

// Head returns the first n bytes of a file without a byte order mark, none on
// error. The next call of Head or Tail overwrites them.
func (w *Walk) Head(path string, n int64) []byte {
	return jsonl.WithoutMark(w.part(path, n, io.SeekStart))
}

// Tail returns the last n bytes of a file, as Head does the first.
func (w *Walk) Tail(path string, n int64) []byte { return w.part(path, n, io.SeekEnd) }

func (w *Walk) part(path string, n int64, from int) []byte {
	f := w.Open(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	if from == io.SeekEnd {
		f.Seek(-n, from) // fails in a shorter file, which is then read from its start
	}
	w.buf = slices.Grow(w.buf[:0], int(n))
	got, _ := io.ReadFull(f, w.buf[:n])
	return w.buf[:got]
}

// Err returns the first of the collected errors as an UnreadableError, nil if there
// are none.
func (w *Walk) Err(name string) error {
	switch {
	case w.err == nil:
		return nil
	case w.failed > 1:
		return UnreadableError(name, fmt.Errorf("%w (and %d more)", w.err, w.failed-1))
	}
	return UnreadableError(name, w.err)
}

// StartedDuring returns a function that reports whether the thread in path may
// have started a subagent at a given time: after its own start, and at most a day
// after its last write or record, because a call may be recorded only when it has returned.
// Times are in UTC in the given layout, as in file names; "" is unknown.
func StartedDuring(path, start string, last time.Time, layout string) func(start string) bool {
	const maxDelay = 24 * time.Hour
	info, err := os.Stat(path)
	if err != nil {
		return func(string) bool { return true }
	}
	if info.ModTime().After(last) {
		last = info.ModTime()
	}
	end := last.Add(maxDelay).UTC().Format(layout)
	return func(other string) bool { return other == "" || (start <= other && other <= end) }
}
