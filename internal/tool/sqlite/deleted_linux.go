package sqlite

import (
	"fmt"
	"os"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"golang.org/x/sys/unix"
)

// syncDeleted returns a function to call after the database was closed. If that
// deleted the write-ahead log, it makes the deletion durable before the blocks
// of the file are free, where the file system does not do so itself.
//
// ext2 writes a deletion some time later. Until then the deleted file has its
// list of blocks, in a block that may be a directory of the log by now: after a
// power loss the repair of the file system clears that directory.
func syncDeleted(file string) func() {
	wal, err := plainfile.Open(file + "-wal")
	if err != nil {
		return func() {}
	}
	if !onExt2(wal) {
		wal.Close() // SQLite has no lock on this file that closing it would release
		return func() {}
	}
	return func() {
		var s unix.Stat_t
		if unix.Fstat(int(wal.Fd()), &s) == nil && s.Nlink == 0 {
			_ = wal.Sync() // the index is derived, so its loss is no error
		}
		wal.Close()
	}
}

// onExt2 reports whether a file is on ext2, which has the magic number of ext4.
func onExt2(f *os.File) bool {
	var fs unix.Statfs_t
	var s unix.Stat_t
	if unix.Fstatfs(int(f.Fd()), &fs) != nil || fs.Type != unix.EXT2_SUPER_MAGIC || unix.Fstat(int(f.Fd()), &s) != nil {
		return false
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	device := fmt.Sprintf(" %d:%d ", unix.Major(uint64(s.Dev)), unix.Minor(uint64(s.Dev)))
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, device) && strings.Contains(line, " - ext2 ") {
			return true
		}
	}
	return false
}
