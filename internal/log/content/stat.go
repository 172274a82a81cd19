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
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// Stat implements handoff.Files.
func (s *Files) Stat(ctx context.Context, list []handoff.Artifact) []handoff.FileState {
	states := make([]handoff.FileState, len(list))
	for i, a := range list {
		states[i] = s.stat(ctx, a)
	}
	return states
}

func (s *Files) stat(ctx context.Context, a handoff.Artifact) handoff.FileState {
	if s.isForeign(a) {
		return s.statForeign(ctx, a)
	}
	root, name, done, err := s.find(ctx, a)
	defer done()
	state, info := compareStat(a, root, name, err)
	if state.Target == handoff.Unknown && info != nil {
		state.Fingerprint = s.fingerprint(info)
	}
	return state
}

// Open implements handoff.Files.
func (s *Files) Open(ctx context.Context, a handoff.Artifact) (state handoff.FileState, f io.ReadSeekCloser) {
	if s.isForeign(a) {
		return s.statForeign(ctx, a), nil
	}
	root, name, done, err := s.find(ctx, a)
	defer done()
	state, info := compareStat(a, root, name, err)
	switch {
	case state.Target != handoff.Unknown || info == nil:
	case info.IsDir():
		if state.Target = s.compareDir(ctx, a, root, name); !a.Kept && state.Target != handoff.Modified {
			f = s.openDir(ctx, a, root, name)
		}
	default:
		state.Target, state.Fingerprint, f = s.verifyFile(ctx, a, root, name)
	}
	return state, f
}

// isForeign reports whether an artifact's file is that of another runtime
// directory: the same path is another file here.
func (s *Files) isForeign(a handoff.Artifact) bool {
	if a.Record.Origin == "" || s.Origin == nil {
		return false
	}
	own, err := s.Origin()
	return err != nil || own != a.Record.Origin
}

// statForeign returns the state of what another machine published: only its kept
// copy can be reached.
func (s *Files) statForeign(ctx context.Context, a handoff.Artifact) handoff.FileState {
	if !a.Kept {
		return handoff.FileState{Target: handoff.Unknown}
	}
	if s.Here != nil {
		here, err := s.Here(ctx, handoff.Digest{Algorithm: handoff.SHA256, Value: a.Digest.Value})
		if err != nil || !here {
			return handoff.FileState{Target: handoff.Remote}
		}
	}
	return handoff.FileState{Target: handoff.Available}
}

// errUnreachable is the error for a file in a directory that this process doesn't
// know, so that it is not known to be missing.
var errUnreachable = errors.New("in an unknown directory")

// find returns the directory and the name of an artifact's file. Its error applies
// to the file. The caller must call done in any case.
func (s *Files) find(ctx context.Context, a handoff.Artifact) (root *os.Root, name string, done func(), err error) {
	root = s.Root
	name = filepath.FromSlash(a.Path)
	done = func() {}
	if safepath.Check(a.Path) != nil && !IsStored(a.Path) {
		return nil, "", done, errUnreachable // nothing there was published
	}
	switch {
	case a.Root == handoff.RuntimeRoot:
		root, err = openKnown(s.RuntimeDir)
	case a.Root == handoff.SessionRoot && s.SessionDir != nil:
		root, err = openKnown(s.SessionDir(ctx, a.Record.Producer))
	case a.Root != "":
		err = errUnreachable
	case a.Worktree != s.Linked:
		return s.findInWorktree(a)
	case a.TargetType == "symlink":
		name, err = s.resolve(a.Path) // os.Root refuses absolute links, even to a file inside
	}
	if a.Root != "" && err != nil {
		return nil, "", done, errUnreachable
	}
	if root != s.Root {
		done = func() { root.Close() }
	}
	return root, name, done, err
}

func openKnown(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, errUnreachable
	}
	return os.OpenRoot(dir)
}

// findInWorktree is find for an artifact of another worktree of the repository. If
// the worktree was removed, the file is missing.
func (s *Files) findInWorktree(a handoff.Artifact) (*os.Root, string, func(), error) {
	done := func() {}
	if s.Worktree == nil {
		return nil, "", done, errUnreachable
	}
	dir := s.Worktree(a.Worktree)
	if dir == "" {
		return nil, "", done, fs.ErrNotExist
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", done, err
	}
	return root, filepath.FromSlash(a.Path), func() { root.Close() }, nil
}

// compareStat returns the state of a file without reading it. If its target is
// Unknown and the file exists, it returns the file's info too. The path of a file
// that can't be examined, or is outside its directory, is not returned.
func compareStat(a handoff.Artifact, root *os.Root, name string, err error) (state handoff.FileState,
	info fs.FileInfo) {
	if root != nil && filepath.IsLocal(filepath.FromSlash(a.Path)) {
		state.Path = filepath.Join(root.Name(), filepath.FromSlash(a.Path))
	}
	switch {
	case err != nil:
	case a.TargetType == "file": // a link in its place is not followed
		info, err = root.Lstat(name)
	default:
		info, err = root.Stat(name)
	}
	directory := a.SizeBytes == nil
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		state.Target = handoff.Missing
		return state, nil
	case err != nil:
		return handoff.FileState{Target: handoff.Unknown}, nil
	case directory != info.IsDir(), !directory && (!info.Mode().IsRegular() || info.Size() != *a.SizeBytes):
		state.Target = handoff.Modified
		return state, nil
	}
	state.Target = handoff.Unknown
	return state, info
}

// compareDir returns the target state of a directory.
func (s *Files) compareDir(ctx context.Context, a handoff.Artifact, root *os.Root, name string) handoff.Target {
	if a.Digest.Algorithm != handoff.SHA256Tar {
		return handoff.Unknown
	}
	d, err := s.packed(ctx, root, name, digestOf)
	switch {
	case errors.Is(err, handoff.Invalid), err == nil && d.Value != a.Digest.Value:
		return handoff.Modified // other content, or content that can't be kept
	case err != nil:
		return handoff.Unknown
	}
	return handoff.Available
}

// verifyFile reads a file and compares it with its digest.
func (s *Files) verifyFile(ctx context.Context, a handoff.Artifact, root *os.Root, name string) (handoff.Target, string,
	io.ReadSeekCloser) {
	f, err := openSteady(ctx, root, name)
	if err != nil {
		return handoff.Unknown, "", nil
	}
	f.report = s.Reading
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
