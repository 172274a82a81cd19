package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// indexDirs returns where the index of a log may lie, best first: the runtime
// directory, unless a network stands between it and us, for the processes that
// share a database share memory; and the user's cache. The second is made when
// it is asked for.
func indexDirs(dir string, getenv func(string) string) func(id string) []string {
	return func(id string) []string {
		var dirs []string
		if onThisMachine(dir) {
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

// lockName is the file that everyone who has an index open holds a shared lock
// on, so that nobody puts the index aside under another's feet.
const lockName = "index.lock"

// share locks the index of a directory against being put aside. It returns
// what unlocks it.
func share(dir string) (func() error, error) { return lock(dir, syscall.LOCK_SH) }

func lock(dir string, how int) (func() error, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
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

// putAside renames a damaged index, and what belongs to it, unless another
// process has it open. One that was put aside before makes room.
func putAside(file string) error {
	free, err := lock(filepath.Dir(file), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return err
	}
	defer free()
	for _, suffix := range []string{"-shm", "-wal", ""} {
		err := os.Rename(file+suffix, file+".damaged"+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
