package content

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// Stat implements handoff.Files.
func (s *Files) Stat(ctx context.Context, a handoff.Artifact) (t handoff.Target, fingerprint string) {
	root, name, done, err := s.find(ctx, a)
	defer done()
	t, info := compareStat(a, root, name, err)
	if t != handoff.Unknown || info == nil {
		return t, ""
	}
	return t, s.fingerprint(info)
}

// Open implements handoff.Files.
func (s *Files) Open(ctx context.Context, a handoff.Artifact) (t handoff.Target, fingerprint string, f io.ReadSeekCloser) {
	root, name, done, err := s.find(ctx, a)
	defer done()
	t, info := compareStat(a, root, name, err)
	switch {
	case t != handoff.Unknown || info == nil:
		return t, "", nil
	case info.IsDir():
		return s.compare(ctx, a, root, name), "", nil
	}
	return s.verify(ctx, a, root, name)
}

// errElsewhere says that a file is not known to be missing: it lies where this
// process can't look.
var errElsewhere = errors.New("lies elsewhere")

// find returns where the file of an artifact lies. Its error is about the
// file; done must be called in any case.
func (s *Files) find(ctx context.Context, a handoff.Artifact) (root *os.Root, name string, done func(), err error) {
	root, name, done = s.Root, filepath.FromSlash(a.Path), func() {}
	switch {
	case a.Root == handoff.RuntimeRoot && s.Runtime != nil:
		root, err = s.Runtime()
	case a.Root == handoff.SessionRoot && s.SessionDir != nil:
		root, err = openKnown(s.SessionDir(ctx, a.Record.Producer))
	case a.Root != "":
		err = errElsewhere
	case a.Worktree != s.Linked:
		return s.findElsewhere(a)
	case a.TargetType == "symlink":
		name, err = s.follow(a.Path) // an absolute link may stay within, where os.Root refuses it
	}
	if a.Root != "" && err != nil {
		return nil, "", done, errElsewhere
	}
	if root != s.Root {
		done = func() { root.Close() }
	}
	return root, name, done, err
}

func openKnown(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, errElsewhere
	}
	return os.OpenRoot(dir)
}

// findElsewhere is find for an artifact that was published in another worktree
// of the repository. When that is gone, so is the file.
func (s *Files) findElsewhere(a handoff.Artifact) (*os.Root, string, func(), error) {
	nothing := func() {}
	if s.Worktree == nil {
		return nil, "", nothing, errElsewhere
	}
	dir := s.Worktree(a.Worktree)
	if dir == "" {
		return nil, "", nothing, fs.ErrNotExist
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", nothing, err
	}
	return root, filepath.FromSlash(a.Path), func() { root.Close() }, nil
}

// compareStat says what became of a file as far as that shows without reading it.
// Where it doesn't, and there is something, it returns that.
func compareStat(a handoff.Artifact, root *os.Root, name string, err error) (handoff.Target, fs.FileInfo) {
	var info fs.FileInfo
	switch {
	case err != nil:
	case a.TargetType == "file": // a link that took its place leads to something else
		info, err = root.Lstat(name)
	default:
		info, err = root.Stat(name)
	}
	directory := a.SizeBytes == nil
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return handoff.Missing, nil
	case err != nil:
		return handoff.Unknown, nil
	case directory != info.IsDir(), !directory && (!info.Mode().IsRegular() || info.Size() != *a.SizeBytes):
		return handoff.Modified, nil
	}
	return handoff.Unknown, info
}

// compare says what became of a directory.
func (s *Files) compare(ctx context.Context, a handoff.Artifact, root *os.Root, name string) handoff.Target {
	if a.Digest.Algorithm != handoff.SHA256Tar {
		return handoff.Unknown
	}
	d, err := packed(ctx, root, name, digestOf)
	switch {
	case errors.Is(err, handoff.Invalid), err == nil && d.Value != a.Digest.Value:
		return handoff.Modified // it holds what no kept directory does, or something else
	case err != nil:
		return handoff.Unknown
	}
	return handoff.Available
}

// verify reads a file and compares it with its digest.
func (s *Files) verify(ctx context.Context, a handoff.Artifact, root *os.Root, name string) (handoff.Target, string, io.ReadSeekCloser) {
	f, err := openSteady(ctx, root, name)
	if err != nil {
		return handoff.Unknown, "", nil
	}
	if a.Digest.Algorithm != handoff.SHA256 {
		return handoff.Unknown, "", f
	}
	d, err := digestOf(ctx, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return handoff.Unknown, "", nil
	}
	if d != a.Digest {
		f.Close()
		return handoff.Modified, s.fingerprint(f.was), nil
	}
	return handoff.Available, s.fingerprint(f.was), f
}
