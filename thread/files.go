package thread

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
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

// NotFoundError returns the error for a thread that is in none of the roots. env
// is the environment variable that sets them.
func NotFoundError(provider, id string, roots []string, env string) error {
	return &handoff.Error{Op: "thread", Name: provider + "/" + id, Kind: handoff.NotFound,
		Err: errors.New("no such thread in " + strings.Join(roots, ", ")), Hint: handoff.Advice(searchHint(env))}
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
	kind := handoff.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = handoff.NotFound
	}
	return &handoff.Error{Op: "read thread", Name: name, Kind: kind, Err: err,
		Hint: handoff.Advice("the tool that wrote it may have moved or locked it")}
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

// OpenFile opens a regular file for reading. The error is an UnreadableError.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, UnreadableError(path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, UnreadableError(path, err)
	}
	return f, nil
}

// A Walk reads directories and the ends of files. It collects errors for Err and
// stops reading when its context is done.
type Walk struct {
	ctx  context.Context
	errs []error
	buf  []byte
}

// NewWalk returns a walk that ends with ctx.
func NewWalk(ctx context.Context) *Walk { return &Walk{ctx: ctx} }

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

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Done reports whether the context is done.
func (w *Walk) Done() bool {
	if w.ctx.Err() != nil {
		w.fail(w.ctx.Err())
	}
	return w.ctx.Err() != nil
}

// fail records an error, unless it is the same as the last.
func (w *Walk) fail(err error) {
	if len(w.errs) == 0 || !errors.Is(w.errs[len(w.errs)-1], err) {
		w.errs = append(w.errs, err)
	}
}

// Open opens a file. It returns nil on error.
func (w *Walk) Open(path string) *os.File {
	if w.Done() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		w.fail(err)
		return nil
	}
	return f
}

// Head returns the first n bytes of a file, none on error. The next call of Head
// or Tail overwrites them.
func (w *Walk) Head(path string, n int64) []byte { return w.part(path, n, io.SeekStart) }

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

// Err returns the collected errors as an UnreadableError, nil if there are none.
func (w *Walk) Err(name string) error {
	if w.errs == nil {
		return nil
	}
	return UnreadableError(name, errors.Join(w.errs...))
}

// StartedDuring returns a function that reports whether the thread in path may
// have started a subagent at a given time: after its own start, and at most a day
// after its last write, because a call may be recorded only when it has returned.
// Times are in UTC in the given layout, as in file names; "" is unknown.
func StartedDuring(path, start, layout string) func(start string) bool {
	const maxDelay = 24 * time.Hour
	info, err := os.Stat(path)
	if err != nil {
		return func(string) bool { return true }
	}
	last := info.ModTime().Add(maxDelay).UTC().Format(layout)
	return func(other string) bool { return other == "" || start <= other && other <= last }
}
