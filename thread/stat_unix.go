//go:build linux || darwin

package thread

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openDir opens a directory. It does not wait for other kinds of files.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// statIn returns the state of a file in an open directory. A path that is relative to
// it takes half of the time of an absolute one.
func statIn(dir *os.File, name string) (FileStat, error) { return statAt(int(dir.Fd()), name) }

// stat returns the state of a file.
func stat(path string) (FileStat, error) { return statAt(unix.AT_FDCWD, path) }

func statAt(dir int, path string) (s FileStat, err error) {
	var st unix.Stat_t
	for {
		if err = unix.Fstatat(dir, path, &st, 0); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return s, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return FileStat{
		Size: st.Size, Modified: time.Unix(st.Mtim.Unix()), changed: st.Ctim.Nano(),
		inode: st.Ino, regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}, nil
}
