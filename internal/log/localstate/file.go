package localstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// directories returns the possible directories of a log's index, best first: the
// runtime directory, if it exists, has no format of a later version, and is not on a
// network file system, because processes that share a database share memory; and a
// directory in the user's cache, which is created when the index is opened.
func directories(dir string, getenv func(string) string) func(id string) []string {
	return func(id string) []string {
		var dirs []string
		if info, err := os.Stat(dir); err == nil && info.IsDir() && isLocal(dir) {
			if s, err := inspect(dir); err == nil && s.newer == 0 {
				dirs = append(dirs, dir)
			}
		}
		if cache := userdir.Cache(getenv); cache != "" {
			dirs = append(dirs, filepath.Join(cache, id))
		}
		return dirs
	}
}

// LockName is the name of the lock file of an index. Every process that has the index open
// has a shared lock on it, so that no process removes an index in use. It contains which
// file the index is.
const LockName = "index.lock"

// lockWait is how long a command waits for the lock of an index, which handoff
// itself holds exclusively for an instant only.
const lockWait = time.Second

// lockIndex prevents that the index in a directory is removed. Closing the
// lock file unlocks it.
//
// If the index is another file than when it was last locked, somebody put one in
// its place, such as an older copy. SQLite would combine it with the write-ahead
// log of the other file: lists would lack artifacts. A file that has a write-ahead
// log is then removed; as long as another process has the index open, the
// error is errReplaced.
func lockIndex(ctx context.Context, dir string) (*os.File, error) {
	f, err := lockFile(ctx, dir, syscall.LOCK_SH, lockWait)
	if err != nil {
		return nil, err
	}
	if sameIndex(f, dir) {
		return f, nil
	}
	f.Close()
	if f, err = lockFile(ctx, dir, syscall.LOCK_EX, 0); err != nil {
		return nil, errReplaced
	}
	if !sameIndex(f, dir) {
		file := filepath.Join(dir, FileName)
		if info, err := os.Lstat(file + "-wal"); err == nil && info.Size() > 0 {
			if err := remove(file); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
		if err := identify(f, dir); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := durable.Lock(ctx, f, syscall.LOCK_SH, lockWait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errReplaced = errors.New("it was replaced by another file while a process uses it")

// fileID returns what tells the index in a directory from another file of the
// file system, "" if there is none.
func fileID(dir string) string {
	info, err := os.Lstat(filepath.Join(dir, FileName))
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintln(stat.Ino)
}

// sameIndex reports whether a lock file names the index in its directory. An
// empty one names none yet.
func sameIndex(lock *os.File, dir string) bool {
	var b [64]byte
	n, _ := lock.ReadAt(b[:], 0)
	known, id := string(b[:n]), fileID(dir)
	return known == "" || id == "" || known == id // without a file, SQLite starts a new one
}

// identify writes to a lock file which file the index in its directory is.
func identify(lock *os.File, dir string) error {
	id := fileID(dir)
	if b := make([]byte, len(id)); id == "" {
		return nil
	} else if n, _ := lock.ReadAt(b, 0); string(b[:n]) == id {
		return nil
	}
	if err := lock.Truncate(int64(len(id))); err != nil {
		return err
	}
	_, err := lock.WriteAt([]byte(id), 0)
	return err
}

// lockFile waits for the lock file of an index. While another process fills the index, it waits for
// as long as that makes progress.
func lockFile(ctx context.Context, dir string, how int, wait time.Duration) (*os.File, error) {
	for seen := (time.Time{}); ; wait = lockWait {
		f, err := lockOnce(ctx, dir, how, wait)
		if !errors.Is(err, durable.ErrLocked) {
			return f, err
		}
		filling, statErr := os.Lstat(sqlindex.Filling(filepath.Join(dir, FileName)))
		if statErr != nil || filling.ModTime().Equal(seen) {
			return nil, err
		}
		seen = filling.ModTime()
	}
}

func lockOnce(ctx context.Context, dir string, how int, wait time.Duration) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(filepath.Join(dir, LockName), flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.OpenFile(filepath.Join(dir, LockName), flags, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	if err = plainfile.CheckOnlyName(f.Name()); err == nil { // it is written to
		err = durable.Lock(ctx, f, how, wait)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// discard removes a damaged index and its auxiliary files, unless another process has it open.
func discard(file string) error {
	lock, err := lockFile(context.Background(), filepath.Dir(file), syscall.LOCK_EX, 0)
	if err != nil {
		return err
	}
	defer lock.Close()
	return remove(file)
}

// remove is discard for a caller that has the exclusive lock.
func remove(file string) error {
	for _, suffix := range []string{"-journal", "-shm", "-wal", ""} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
