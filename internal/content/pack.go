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
	"syscall"

	"github.com/agent-handoff/handoff"
)

// Pack yields a directory as one tar, which is the same for the same content:
// names are sorted, and there are no times and no owners. Links are kept as
// such, and must stay within the directory.
//
// Reading fails with kind Conflict where the directory changes meanwhile, and
// with Invalid where it holds what can't be kept. Close ends it early.
func Pack(ctx context.Context, dir *os.Root) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(ctx, dir, w)) }()
	return r
}

func pack(ctx context.Context, dir *os.Root, w io.Writer) error {
	before, err := list(ctx, dir)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, e := range before {
		if err := t.WriteHeader(e.header()); err != nil {
			return err
		}
		if e.mode.IsRegular() {
			if err := e.copy(ctx, dir, t); err != nil {
				return err
			}
		}
	}
	after, err := list(ctx, dir)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return &handoff.Error{Op: "keep", Name: dir.Name(), Kind: handoff.Conflict, Err: errChanging, Hint: handoff.Advice("publish it again once its writers are done")}
	}
	return t.Close()
}

// An entry is what a directory holds under one name.
type entry struct {
	name    string
	mode    fs.FileMode
	size    int64
	changed int64  // its time, in nanoseconds
	link    string // where a symbolic link leads
}

// list returns what a directory holds, sorted by name.
func list(ctx context.Context, dir *os.Root) ([]entry, error) {
	var entries []entry
	err := fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
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
			err = unkept(name, "is neither a file, a directory nor a link")
		}
		entries = append(entries, e)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // it was there a moment ago
		err = &handoff.Error{Op: "keep", Name: dir.Name(), Kind: handoff.Conflict, Err: errChanging, Hint: handoff.Advice("publish it again once its writers are done")}
	}
	return entries, err
}

// within returns an error unless a link leads to what its directory holds, or
// to nothing there.
func within(dir *os.Root, name, link string) error {
	_, err := dir.Stat(name)
	if filepath.IsAbs(link) || !filepath.IsLocal(path.Join(path.Dir(name), link)) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unkept(name, "leads out of the directory")
	}
	return nil
}

func unkept(name, why string) error {
	return &handoff.Error{Op: "keep", Name: name, Kind: handoff.Invalid, Err: errors.New(why), Hint: handoff.Advice("leave it out, or publish the directory with --no-keep")}
}

func (e entry) header() *tar.Header {
	h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: e.size}
	if e.mode&0o111 != 0 {
		h.Mode = 0o755
	}
	switch e.mode.Type() {
	case fs.ModeDir:
		h.Name, h.Typeflag, h.Size = e.name+"/", tar.TypeDir, 0
	case fs.ModeSymlink:
		h.Typeflag, h.Linkname, h.Mode, h.Size = tar.TypeSymlink, e.link, 0o777, 0
	}
	return h
}

// copy writes a file as long as it was when it was listed.
func (e entry) copy(ctx context.Context, dir *os.Root, w io.Writer) error {
	f, err := openSteady(ctx, dir, e.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && f.was.Size() != e.size {
		err = errChanging
	}
	if f != nil {
		defer f.Close()
	}
	if err == nil {
		_, err = io.CopyN(w, f, e.size)
	}
	if errors.Is(err, errChanging) || errors.Is(err, io.EOF) {
		err = &handoff.Error{Op: "keep", Name: e.name, Kind: handoff.Conflict, Err: errChanging, Hint: handoff.Advice("publish it again once its writer is done")}
	}
	return err
}

// Unpack writes what Pack packed into a directory, which is empty. Nothing is
// written outside it, whatever r holds. Kinds: Corrupt, Unavailable.
func Unpack(ctx context.Context, r io.Reader, dir *os.Root) error {
	var links []tar.Header
	t := tar.NewReader(readerOf(ctx, r))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpack(t, h, dir)
		}
		if err != nil {
			return unpacked(dir, err)
		}
		if h.Typeflag == tar.TypeSymlink {
			links = append(links, *h)
		}
	}
	for _, h := range links {
		if err := within(dir, path.Clean(h.Name), h.Linkname); err != nil {
			return unpacked(dir, errors.Join(err, dir.Remove(h.Name)))
		}
	}
	return syncTree(dir)
}

// unpacked gives an error its kind.
func unpacked(dir *os.Root, err error) error {
	kind := handoff.Corrupt
	for _, machine := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EROFS, syscall.EIO, context.Canceled} {
		if errors.Is(err, machine) {
			kind = handoff.Unavailable
		}
	}
	return &handoff.Error{Op: "unpack", Name: dir.Name(), Kind: kind, Err: reason(err)}
}

func unpack(t *tar.Reader, h *tar.Header, dir *os.Root) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is no name below it", h.Name)
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

// syncTree brings the directories of a tree to stable storage.
func syncTree(dir *os.Root) error {
	return fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(dir, name)
	})
}
