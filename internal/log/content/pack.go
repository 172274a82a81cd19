package content

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// Pack returns a directory as a deterministic tar: names are sorted, and times and
// owners are left out. Symbolic links are packed as links and must lead to
// something inside the directory.
//
// Reading fails with kind Conflict if the directory changes while it is read, and
// with Invalid if it contains anything but files, directories and such links. The
// caller must close the reader. report, which may be nil, is called while the files are
// read, with the number of their bytes that were read and their size.
func Pack(ctx context.Context, dir *os.Root, report func(done, total int64)) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(ctx, dir, report, w)) }()
	return r
}

func pack(ctx context.Context, dir *os.Root, report func(done, total int64), w io.Writer) error {
	before, err := list(ctx, dir)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	var done int64
	total := sizeOf(before)
	for _, e := range before {
		if err := t.WriteHeader(e.header()); err != nil {
			return err
		}
		if e.mode.IsRegular() {
			var read func(n, size int64)
			if report != nil {
				read = func(n, _ int64) { report(done+n, total) }
			}
			if err := e.copy(ctx, dir, read, t); err != nil {
				return err
			}
			done += e.size
		}
	}
	after, err := list(ctx, dir)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return handoff.E("keep", dir.Name(), handoff.Conflict, errChanging,
			handoff.Advice("publish it again when its writers have finished"))
	}
	return t.Close()
}

// An entry is one file, directory or link in a directory.
type entry struct {
	name    string
	mode    fs.FileMode
	size    int64
	changed int64  // modification time in nanoseconds
	link    string // the target of a symbolic link
}

// list returns the entries of a directory tree, sorted by name.
func list(ctx context.Context, dir *os.Root) ([]entry, error) {
	var entries []entry
	err := fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if err := safepath.Check(d.Name()); err != nil {
			return notKept(name, err.Error())
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return err
		}
		e := entry{name: name, mode: info.Mode(), size: info.Size(), changed: info.ModTime().UnixNano()}
		switch e.mode.Type() {
		case 0, fs.ModeDir:
		case fs.ModeSymlink:
			if e.link, err = dir.Readlink(name); err == nil {
				err = within(dir, name, e.link)
			}
		default:
			err = notKept(name, "is neither a file, a directory nor a link")
		}
		entries = append(entries, e)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // removed after it was listed
		err = handoff.E("keep", dir.Name(), handoff.Conflict, errChanging,
			handoff.Advice("publish it again when its writers have finished"))
	}
	return entries, err
}

// within returns an error if a link leads out of its directory. A link to a
// missing file inside is valid.
func within(dir *os.Root, name, link string) error {
	_, err := dir.Stat(name)
	if filepath.IsAbs(link) || !filepath.IsLocal(path.Join(path.Dir(name), link)) ||
		(err != nil && !errors.Is(err, fs.ErrNotExist)) {
		return notKept(name, "link leaves the directory")
	}
	return nil
}

func notKept(name, reason string) error {
	return handoff.E("keep", name, handoff.Invalid, errors.New(reason),
		handoff.Advice("move it out of the directory, or publish the directory without keeping a copy"))
}

func (e entry) header() *tar.Header {
	h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: e.size}
	if e.mode&0o111 != 0 {
		h.Mode = 0o755
	}
	switch e.mode.Type() {
	case fs.ModeDir:
		h.Name = e.name + "/"
		h.Typeflag = tar.TypeDir
		h.Size = 0
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		h.Linkname = e.link
		h.Mode = 0o777
		h.Size = 0
	}
	return h
}

// sizeOf returns the size of the files of a directory.
func sizeOf(entries []entry) (size int64) {
	for _, e := range entries {
		if e.mode.IsRegular() {
			size += e.size
		}
	}
	return size
}

// copy writes a file that must still have the size that was listed.
func (e entry) copy(ctx context.Context, dir *os.Root, report func(n, size int64), w io.Writer) error {
	f, err := openSteady(ctx, dir, e.name)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && f.was.Size() != e.size) {
		err = errChanging
	}
	if f != nil {
		defer f.Close()
	}
	if err == nil {
		f.report = report
		_, err = io.CopyN(w, f, e.size)
	}
	if errors.Is(err, errChanging) || errors.Is(err, io.EOF) {
		err = handoff.E("keep", e.name, handoff.Conflict, errChanging,
			handoff.Advice("publish it again when its writer has finished"))
	}
	return err
}

// Unpack writes a tar of Pack to an empty directory. It never writes outside it, and no
// .git or .handoff, whatever r contains. Kinds: Corrupt, Unavailable.
func Unpack(ctx context.Context, r io.Reader, dir *os.Root) error {
	var links []tar.Header
	t := tar.NewReader(&durable.Source{Ctx: ctx, R: r})
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpack(t, h, dir)
		}
		if err != nil {
			return unpackError(dir, err)
		}
		if h.Typeflag == tar.TypeSymlink {
			links = append(links, *h)
		}
	}
	for _, h := range links {
		if err := within(dir, path.Clean(h.Name), h.Linkname); err != nil {
			return unpackError(dir, errors.Join(err, dir.Remove(h.Name)))
		}
	}
	return syncTree(dir)
}

// unpackError returns an error of Unpack with its kind.
func unpackError(dir *os.Root, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) {
		return err // of what is read
	}
	kind := handoff.Corrupt
	for _, system := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EROFS, syscall.EIO,
		syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM, syscall.ENAMETOOLONG, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, system) {
			kind = handoff.Unavailable
		}
	}
	return handoff.E("unpack", dir.Name(), kind, durable.Reason(err))
}

func unpack(t *tar.Reader, h *tar.Header, dir *os.Root) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leaves the directory", h.Name)
	}
	if err := safepath.Check(name); err != nil {
		return fmt.Errorf("%q %w", h.Name, err)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") { // it can have any size
			return fmt.Errorf("%q is a sparse file", h.Name)
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return dir.Mkdir(name, 0o777)
	case tar.TypeSymlink:
		return dir.Symlink(h.Linkname, name)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file, a directory nor a link", h.Name)
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode&0o111|0o666))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, t)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncTree makes the entries of all directories of a tree durable.
func syncTree(dir *os.Root) error {
	return fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return durable.SyncDir(dir, name)
	})
}
