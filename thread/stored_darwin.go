package thread

import (
	"io/fs"
	"syscall"
)

// identity returns the inode of a file and when it was last changed.
func identity(info fs.FileInfo) (inode uint64, changed int64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return s.Ino, s.Ctimespec.Nano()
}
