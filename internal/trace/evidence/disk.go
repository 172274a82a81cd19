package evidence

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A disk reads the files of a worktree, which are named in the order of their paths.
type disk struct {
	root *os.Root
	sum  hash.Hash // of blobs
	dir  string    // the directory of the last file,
	in   *os.File  // if it is open
	fd   int
	buf  []byte

	read   map[string]stamped // the files that were read and that
	until  int64              // changed before this time in ns
	before map[string]stamped // those that were read earlier
}

// A stamped is a file with what changes when it is written to.
type stamped struct {
	entry        string
	size         int64
	inode, mode  uint64
	changed      int64 // its time in ns, which programs can't set
	modifiedNano int64
}

// settled is the age of a change from which another one certainly has another time.
const settled = 2 * time.Second

// entry returns the entry of a file as it is on the disk, and deleted if it is missing or
// a directory. A file that was read before is not read again if it is as old as then.
func (d *disk) entry(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	base, err := d.open(name)
	var st unix.Stat_t
	if err == nil {
		err = ignoringEINTR(func() error { return unix.Fstatat(d.fd, base, &st, unix.AT_SYMLINK_NOFOLLOW) })
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && kind == unix.S_IFDIR:
		return deleted, nil
	case err != nil:
		return "", &fs.PathError{Op: "stat", Path: name, Err: err}
	case kind != unix.S_IFREG && kind != unix.S_IFLNK:
		return "special", nil // a pipe or a device, which has no content
	}
	now := stamped{"", st.Size, st.Ino, uint64(st.Mode), st.Ctim.Nano(), st.Mtim.Nano()}
	if now.entry = d.before[name].entry; now != d.before[name] {
		if now.entry, err = d.content(ctx, name, base, st); err != nil {
			return "", err
		}
	}
	if now.changed < d.until {
		d.read[name] = now
	}
	return now.entry, nil
}

// open opens the directory of a file, and returns the file's name in it.
func (d *disk) open(name string) (base string, err error) {
	dir := path.Dir(name)
	if d.in != nil && dir == d.dir {
		return path.Base(name), nil
	}
	d.close()
	// A pipe in the place of the directory must not be waited for.
	if d.in, err = d.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0); err != nil {
		d.in = nil
		return "", err
	}
	d.dir, d.fd = dir, int(d.in.Fd())
	return path.Base(name), nil
}

func (d *disk) close() {
	if d.in != nil {
		d.in.Close()
	}
	d.in = nil
}

// content returns the entry of a regular file or of a link, which it reads.
func (d *disk) content(ctx context.Context, name, base string, st unix.Stat_t) (string, error) {
	if need := int(min(st.Size, 1<<20)) + 1; len(d.buf) < need {
		d.buf = make([]byte, max(need, 32<<10))
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		n, err := unix.Readlinkat(d.fd, base, d.buf)
		if err != nil || int64(n) != st.Size {
			return "", changedWhileRead(name, err)
		}
		d.start(st.Size)
		d.sum.Write(d.buf[:n])
		return "120000 " + d.blob(), nil
	}
	var fd int
	if err := ignoringEINTR(func() (err error) {
		fd, err = unix.Openat(d.fd, base, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	}); err != nil {
		return "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	d.start(st.Size)
	for left := st.Size; ; {
		var n int
		err := ignoringEINTR(func() (err error) { n, err = unix.Read(fd, d.buf); return err })
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return "", &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if left -= int64(n); left < 0 || n == 0 && left > 0 {
			return "", changedWhileRead(name, nil)
		}
		d.sum.Write(d.buf[:n])
		if left == 0 && n < len(d.buf) {
			break
		}
	}
	if st.Mode&0o100 != 0 {
		return "100755 " + d.blob(), nil
	}
	return "100644 " + d.blob(), nil
}

func changedWhileRead(name string, err error) error {
	if err != nil {
		return &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return fmt.Errorf("%s changed while it was read", name)
}

// start starts the hash of a blob of git, and blob returns it.
func (d *disk) start(size int64) {
	d.sum.Reset()
	d.sum.Write(fmt.Appendf(nil, "blob %d\x00", size))
}

func (d *disk) blob() string {
	var sum [32]byte
	return hex.EncodeToString(d.sum.Sum(sum[:0]))
}

func ignoringEINTR(do func() error) (err error) {
	for {
		if err = do(); err != unix.EINTR {
			return err
		}
	}
}
