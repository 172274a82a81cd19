//go:build linux || darwin

package thread

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-handoff/handoff/internal/jsonl"
)

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
		Size: st.Size, Modified: jsonl.Encodable(time.Unix(st.Mtim.Unix())), changed: st.Ctim.Nano(),
		inode: st.Ino, regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}, nil
}
