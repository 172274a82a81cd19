package localstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// directories returns the possible directories of a log's index, best first: the
// runtime directory, if it exists and is not on a network file system, because
// processes that share a database share memory; and a directory in the user's
// cache, which is created when the index is opened.
func directories(dir string, getenv func(string) string) func(id string) []string {
	return func(id string) []string {
		var dirs []string
		if info, err := os.Stat(dir); err == nil && info.IsDir() && isLocal(dir) {
			dirs = append(dirs, dir)
		}
		cache := getenv("XDG_CACHE_HOME")
		if home := getenv("HOME"); cache == "" && home != "" {
			cache = filepath.Join(home, ".cache")
			if runtime.GOOS == "darwin" {
				cache = filepath.Join(home, "Library", "Caches")
			}
		}
		if filepath.IsAbs(cache) {
			dirs = append(dirs, filepath.Join(cache, "handoff", id))
		}
		return dirs
	}
}

// LockName is the name of the lock file of an index. Every process that has the index open
// has a shared lock on it, so that no process quarantines an index in use.
const LockName = "index.lock"

// lockShared prevents that the index in a directory is quarantined. It returns
// the function that unlocks it.
func lockShared(dir string) (func() error, error) { return lock(dir, syscall.LOCK_SH) }

func lock(dir string, how int) (func() error, error) {
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
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}

// quarantine renames a damaged index and its auxiliary files, unless another
// process has it open. It replaces an earlier quarantined index.
func quarantine(file string) error {
	unlock, err := lock(filepath.Dir(file), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return err
	}
	defer unlock()
	for _, suffix := range []string{"-journal", "-shm", "-wal", ""} {
		err := os.Rename(file+suffix, file+".damaged"+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
