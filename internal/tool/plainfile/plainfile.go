// Package plainfile reads files of a directory that may be hostile, such as the
// runtime directory of a cloned repository.
//
// A file is opened without following a link at its last element, must be a
// regular file, and is read up to a limit. Opening never blocks: not on a named
// pipe, and not on a device.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// ErrNotRegular means that a name is a link, a directory, a pipe or a device.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge means that a file is larger than its limit.
var ErrTooLarge = errors.New("too large")

// flags open a file without following a link and without waiting for a writer.
const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Open opens a regular file. Its error matches ErrNotRegular for anything else,
// and fs.ErrNotExist if there is nothing.
func Open(name string) (*os.File, error) { return regular(os.OpenFile(name, flags, 0)) }

// OpenLinked is Open, but follows links: for a file of a program of the user.
func OpenLinked(name string) (*os.File, error) {
	return regular(os.OpenFile(name, flags&^syscall.O_NOFOLLOW, 0))
}

// OpenIn is Open for a name in a directory that no path leaves.
func OpenIn(dir *os.Root, name string) (*os.File, error) {
	// An os.Root follows links inside it, whatever the flags are.
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := regular(dir.OpenFile(name, flags, 0))
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(f *os.File, err error) (*os.File, error) {
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, ErrNotRegular
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

// ReadLinked is Read, but follows links as OpenLinked does.
func ReadLinked(name string, limit int64) ([]byte, error) {
	f, err := OpenLinked(name)
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

// ReadIn is Read for a name in a directory that no path leaves.
func ReadIn(dir *os.Root, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return b, err
}

// CheckDir returns an error unless a directory is one, and not a link to one.
// fs.ErrNotExist means that there is nothing.
func CheckDir(name string) error {
	info, err := os.Lstat(name)
	if err == nil && !info.IsDir() {
		return errors.New("not a directory")
	}
	return err
}

// CheckFile is CheckDir for a regular file.
func CheckFile(name string) error {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	return err
}

// CheckOnlyName is CheckFile for a file that has no other name, through which it
// could be a file of another program.
func CheckOnlyName(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return errors.New("has more than one name")
	}
	return nil
}

// FS returns a directory as a file system of regular files of at most limit
// bytes. A name that is a link is not opened. Within a name, only links to directories
// inside are followed.
func FS(dir string, limit int64) fs.FS { return plainFS{dir, limit} }

type plainFS struct {
	dir   string
	limit int64
}

// Open implements fs.FS.
func (p plainFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(name))
	if err == nil && info.IsDir() {
		return root.Open(filepath.FromSlash(name))
	}
	f, err := OpenIn(root, filepath.FromSlash(name))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if info, err = f.Stat(); err == nil && info.Size() > p.limit {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, p.limit)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// InvalidAt returns the error of a YAML file that failed to parse: the line and the
// kind of problem, if the parser's error states them, but none of the content, which
// that error may quote.
func InvalidAt(err error) error {
	found := regexp.MustCompile(`\b(?:line |L)(\d+)(.*)`).FindStringSubmatch(err.Error())
	if found == nil {
		return errors.New("invalid YAML")
	}
	line, text := found[1], found[2]
	problem := "invalid YAML"
	switch {
	case strings.Contains(text, "not found in type"):
		problem = "unknown key"
	case strings.Contains(text, "already defined"):
		problem = "duplicate key"
	case strings.Contains(text, "cannot construct"):
		problem = "value of the wrong type"
	case strings.Contains(text, "invalid"): // of a type's own decoder
		problem = "invalid value"
	}
	return fmt.Errorf("line %s: %s", line, problem)
}
