// Package durable writes files that survive a crash: after a killed process or
// a power loss, a file has its old content or its new content, never a part.
//
// What writes a file works inside an [os.Root], so no path leaves it. A file is
// written to a temporary file beside its target, synced, and then renamed or
// linked; the directory is synced last. A temporary file that a killed process
// left is removed by the next write of the same target, once it is an hour old; one that
// is still being written is held.
package durable

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// staleAfter is the age at which a temporary file is abandoned: its process
// has died. Ages are measured by the clock of the file system.
const staleAfter = time.Hour

// temporaryPrefix begins the name of every temporary file of this package.
const temporaryPrefix = ".handoff-"

// IsTemporary reports whether a base name is one that this package gives to
// temporary files.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// Replace makes name, a slash-separated path in dir, a regular file with the
// content that fill writes. An existing file is replaced and its permissions
// are kept; a new file has mode 0666 before umask. When Replace returns nil the
// file is on stable storage. When fill fails, nothing changes and its error is
// returned as it is.
func Replace(dir *os.Root, name string, fill func(io.Writer) error) error {
	return write(dir, name, fill, func(temporary string) error { return dir.Rename(temporary, name) })
}

// ReplacePrivate is Replace of a file with mode 0600 in a directory of the user, which is created
// with mode 0700.
func ReplacePrivate(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, name, func(w io.Writer) error {
		if f, ok := w.(*os.File); ok {
			if err := f.Chmod(0o600); err != nil {
				return err
			}
		}
		_, err := w.Write(content)
		return err
	})
}

// ReplaceUnsynced is Replace without waiting for the disk: after a power loss the
// file has its old content, the new one, or none. It is for what can be derived again.
func ReplaceUnsynced(dir *os.Root, name string, fill func(io.Writer) error) error {
	temporary, f, err := createTemporary(dir, name)
	if err != nil {
		return err
	}
	err = fill(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary) // abandoned otherwise; the first error counts
	}
	return err
}

// Create is Replace for a file that must not exist yet: it returns an error
// that matches fs.ErrExist if it does. The file system must have hard links.
func Create(dir *os.Root, name string, fill func(io.Writer) error) error {
	return write(dir, name, fill, func(temporary string) error {
		if err := dir.Link(temporary, name); err != nil {
			return err
		}
		return dir.Remove(temporary)
	})
}

// step runs one step of a write. Tests replace it to stop between two steps.
var step = func(name string, do func() error) error { return do() }

func write(dir *os.Root, name string, fill func(io.Writer) error, publish func(temporary string) error) error {
	var temporary string
	var f *os.File
	err := step("create temporary", func() (err error) {
		temporary, f, err = createTemporary(dir, name)
		return err
	})
	if err != nil {
		return err
	}
	err = keepMode(dir, name, f)
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"fill", func() error { return fill(f) }},
		{"sync", f.Sync},
		{"close", f.Close},
		{"publish", func() error { return publish(temporary) }},
	} {
		if err == nil {
			err = step(s.name, s.do)
		}
	}
	if err != nil {
		f.Close()
		_ = dir.Remove(temporary) // abandoned otherwise; the first error counts
		return err
	}
	return step("sync directory", func() error { return SyncDir(dir, path.Dir(name)) })
}

// keepMode gives f the permissions of the regular file that it will replace.
func keepMode(dir *os.Root, name string, f *os.File) error {
	old, err := dir.Lstat(name)
	if err != nil || !old.Mode().IsRegular() {
		return nil // there is nothing to keep
	}
	return f.Chmod(old.Mode().Perm())
}

// createTemporary creates a temporary file beside name and removes abandoned
// ones of the same name, whatever their numbers.
func createTemporary(dir *os.Root, name string) (string, *os.File, error) {
	folder := path.Dir(name)
	prefix := fmt.Sprintf("%s%.8x-", temporaryPrefix, sha256.Sum256([]byte(path.Base(name))))
	for i := 0; ; i++ {
		temporary := path.Join(folder, fmt.Sprint(prefix, i))
		f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue // another writer has this one
		}
		if err == nil {
			Hold(f)
			removeAbandoned(dir, f, folder, prefix)
		}
		return temporary, f, err
	}
}

// removeAbandoned removes the temporary files with a prefix that are much older
// than a new one.
func removeAbandoned(dir *os.Root, created *os.File, folder, prefix string) {
	now, err := created.Stat()
	if err != nil {
		return
	}
	d, err := dir.Open(folder)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what can't be listed stays
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			_ = RemoveAbandoned(dir, path.Join(folder, name), now.ModTime())
		}
	}
}

// Hold keeps a temporary file from being abandoned while it is open: what fills it may
// pause for longer than an hour. Without locks of the file system, it does nothing.
func Hold(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// RemoveAbandoned removes a temporary file that is an hour old at a time of the clock
// of the file system, unless a process holds it.
func RemoveAbandoned(dir *os.Root, name string, now time.Time) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) <= staleAfter {
		return nil
	}
	if f, err := dir.Open(name); err == nil {
		defer f.Close()
		if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			return nil
		}
	}
	return dir.Remove(name)
}

// MakeDirs is os.MkdirAll with entries that are on stable storage.
func MakeDirs(dir string, mode fs.FileMode) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := MakeDirs(parent, mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	return errors.Join(SyncDir(root, "."), root.Close())
}

// SyncDir makes the entries of a directory in dir durable.
func SyncDir(dir *os.Root, name string) error {
	d, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer d.Close() // an error here says nothing about what was synced
	return d.Sync()
}

// SyncParents makes the entries of every directory above name durable, up to
// and including dir.
func SyncParents(dir *os.Root, name string) error {
	for name != "." {
		name = path.Dir(name)
		if err := SyncDir(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// Reason returns the cause of a file system error without the operation and
// the paths, which the caller names itself.
func Reason(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &l):
		return l.Err
	case errors.As(err, &p):
		return p.Err
	}
	return err
}

// A Source reads until Ctx ends. It keeps its error apart from those of the writer to
// which the bytes are copied.
type Source struct {
	Ctx context.Context
	R   io.Reader
	Err error
}

func (s *Source) Read(p []byte) (n int, err error) {
	if err = s.Ctx.Err(); err == nil {
		n, err = s.R.Read(p)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.Err = err
	}
	return n, err
}
