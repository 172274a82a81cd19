package content

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// StoredDir is the directory of stored files in the runtime directory. Each file
// is in a directory named by its artifact's ID.
const StoredDir = "artifacts/files"

// IsStored reports whether a recorded path is that of a stored file, in a runtime
// directory inside the workspace. It is the only path in .handoff that is recorded.
func IsStored(name string) bool {
	runtime, file, ok := strings.Cut(name, "/"+StoredDir+"/")
	return ok && path.Base(runtime) == ".handoff" && safepath.Check(path.Dir(runtime)) == nil &&
		safepath.Check(file) == nil
}

// Store implements handoff.Files.
func (s *Files) Store(ctx context.Context, id string, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies) (state handoff.FileState, discard func(), err error) {
	if d.Name != "" {
		return state, func() {}, s.keepNamed(ctx, d, p, to)
	}
	name := cmp.Or(d.Filename, filename(d.MediaType))
	if name != path.Base(name) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") ||
		safepath.Check(name) != nil {
		return state, nil, handoff.E("publish", name, handoff.Invalid, errors.New("not a plain file name"),
			handoff.Advice("name the file without a directory"))
	}
	if s.Runtime == nil {
		return state, nil, handoff.E("publish", "-", handoff.Unsupported,
			errors.New("no runtime directory to store it in"),
			handoff.Advice("write it to a file in the workspace, and publish that file"))
	}
	root, err := s.Runtime()
	if err != nil {
		return state, nil, err
	}
	defer root.Close()
	dir := path.Join(StoredDir, id)
	discard = func() {
		if root, err := s.Runtime(); err == nil {
			root.RemoveAll(dir)
			root.Remove(StoredDir) // if it is empty
			root.Close()
		}
	}
	file := path.Join(dir, name)
	body := &durable.Source{Ctx: ctx, R: d.Body}
	checked, err := withoutCredentials(d, name, body)
	if err != nil {
		return state, nil, err
	}
	if err := storeFile(root, file, checked); err != nil {
		discard()
		if body.Err != nil {
			return state, nil, readFailure(body.Err)
		}
		return state, nil, handoff.E("publish", "-", handoff.Unavailable, durable.Reason(err),
			unwritable(root, err))
	}
	p.TargetType, p.Branch = "file", s.branch()
	p.Path, p.Root = file, handoff.RuntimeRoot
	if s.RuntimePath != "" {
		p.Path, p.Root = path.Join(s.RuntimePath, file), ""
	}
	state.Path, state.Target = filepath.Join(root.Name(), filepath.FromSlash(file)), handoff.Available
	if state.Fingerprint, err = s.measure(ctx, root, file, d, p, to, handoff.KeepLimit); err != nil {
		discard()
		return state, nil, err
	}
	return state, discard, nil
}

// storeFile writes a new file durably, with the directories that contain it.
func storeFile(root *os.Root, name string, body io.Reader) error {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	err := durable.Replace(root, name, func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
	if err != nil {
		return err
	}
	return durable.SyncParents(root, dir)
}

// keepNamed keeps and describes the body of a name. The caller renders its file
// after the record is appended.
func (s *Files) keepNamed(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies) (err error) {
	body := &durable.Source{Ctx: ctx, R: d.Body}
	checked, err := withoutCredentials(d, d.Name, body)
	if err != nil {
		return err
	}
	seen := &headWriter{}
	r := io.TeeReader(checked, seen)
	if to == nil {
		p.Digest, err = digestOf(ctx, r)
	} else {
		p.Digest, err = to.Put(ctx, r)
	}
	if body.Err != nil {
		return readFailure(body.Err)
	}
	p.TargetType = "file"
	p.SizeBytes = &seen.n
	p.Kept = to != nil
	p.Branch = s.branch()
	if d.Root == "" && d.RootDir == s.Root.Name() { // a pipeline's files are in the main worktree
		p.Worktree = s.Linked
	}
	classify(p, seen.head)
	return err
}

// readFailure returns the error of a body that can't be read.
func readFailure(err error) error {
	var known *handoff.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return handoff.E("read content", "", handoff.Unavailable, durable.Reason(err),
		handoff.Advice("check where the content comes from"))
}

// unwritable returns the hint for a runtime directory that can't be written.
func unwritable(runtime *os.Root, err error) handoff.Hint {
	if errors.Is(err, syscall.EROFS) {
		return handoff.UnwritableHint(runtime.Name(), err)
	}
	return handoff.Advice("free disk space").OrSet("HANDOFF_DIR to a writable directory")
}
