package thread

import (
	"encoding/binary"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// An openedDir is an open directory, as a file descriptor: an os.File takes several
// system calls and an allocation for each entry more.
type openedDir int

// openDir opens a directory. It does not wait for other kinds of files.
func openDir(path string) (openedDir, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			return openedDir(fd), nil
		}
		if err != unix.EINTR {
			return 0, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Close closes the directory.
func (d openedDir) Close() error { return unix.Close(int(d)) }

// stat returns the state of a file in the directory. A path that is relative to it
// takes half of the time of an absolute one.
func (d openedDir) stat(name string) (FileStat, error) { return statAt(int(d), name) }

var direntBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// appendEntries appends the entries of the directory in any order. Those before an
// error are appended too.
func (d openedDir) appendEntries(list []entry) ([]entry, error) {
	buf := direntBuffers.Get().(*[32 << 10]byte)
	defer direntBuffers.Put(buf)
	for {
		n, err := unix.ReadDirent(int(d), buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		list = d.parse(list, buf[:n])
	}
}

// parse appends the entries in records of getdents64(2): the inode in 8 bytes, the
// offset in 8, the length of the record in 2, the type in 1, and the name with a zero
// byte.
func (d openedDir) parse(list []entry, records []byte) []entry {
	text := string(records) // of all names
	for len(records) > 0 {
		size := binary.NativeEndian.Uint16(records[16:])
		name, _, _ := strings.Cut(text[19:size], "\x00")
		if inode := binary.NativeEndian.Uint64(records); inode != 0 && name != "." && name != ".." {
			if kind, ok := d.kind(name, records[18]); ok {
				list = append(list, entry{name, kind})
			}
		}
		records, text = records[size:], text[size:]
	}
	return list
}

// kind returns the type of an entry. ok is false if it was removed.
func (d openedDir) kind(name string, recorded byte) (kind fs.FileMode, ok bool) {
	switch recorded {
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	case unix.DT_UNKNOWN: // of some file systems
		var st unix.Stat_t
		if err := unix.Fstatat(int(d), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return 0, false
		}
		return d.kind(name, byte(st.Mode&unix.S_IFMT>>12)) // which has the numbers of DT_REG and so on
	}
	return fs.ModeIrregular, true
}
