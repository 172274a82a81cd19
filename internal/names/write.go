package names

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// Written is the result of Write.
type Written struct {
	handoff.Published

	File       string             // the file of the name, absolute
	SavedEdits []handoff.Artifact // revisions made from edits of the file outside handoff
}

// A Writer writes the names of one scope.
type Writer struct {
	Hub       *handoff.Hub
	Workspace string // its root directory
	Scope     Scope
}

// Write publishes d.Body as the newest revision of d.Name and renders the name's
// file. If the file was edited outside handoff, its content is first published
// as a revision of its own.
//
// Error kinds: Invalid (the name, or neither run nor session), Conflict (the
// path of the file is not a plain file), and those of Hub.Publish.
func (w Writer) Write(ctx context.Context, d handoff.Draft) (Written, error) {
	namespace, err := w.Scope.Namespace()
	if err != nil {
		return Written{}, err
	}
	if d.Name, err = Clean(d.Name); err != nil {
		return Written{}, err
	}
	d.Namespace = namespace
	f := w.file(d)
	if err := f.checkPath(); err != nil {
		return Written{}, f.fileError(err)
	}
	written := Written{File: filepath.Join(f.dir, filepath.FromSlash(d.Name))}
	if written.SavedEdits, err = f.saveEdit(ctx); err != nil {
		return written, f.fileError(err)
	}
	draft := f.draft
	draft.Body = d.Body
	if written.Published, err = w.Hub.Publish(ctx, draft); err != nil {
		return written, err
	}
	late, err := f.render(ctx)
	written.SavedEdits = append(written.SavedEdits, late...)
	if err != nil {
		// The record is stored; the next write renders the file.
		written.Warnings = append(written.Warnings, fmt.Sprintf("%s is not up to date: %v", written.File, err))
	}
	if a, err := w.Hub.Artifact(ctx, written.ID); err == nil { // its file exists only now
		written.Artifact = a
	}
	return written, nil
}

func (w Writer) file(d handoff.Draft) file {
	f := file{Writer: w, draft: d, dir: w.Scope.path(d.Namespace)}
	f.draft.Path, f.draft.Root, f.draft.RootDir = f.recordedPath()
	return f
}

// RenderStale renders the file of a name again if it is stale, and reports whether
// it was. See Stale.
func (w Writer) RenderStale(ctx context.Context, head handoff.Artifact) (stale bool, err error) {
	if stale, err = w.Stale(ctx, head); !stale || err != nil {
		return false, err
	}
	f, _ := w.fileOf(head)
	_, err = f.render(ctx)
	return true, f.fileError(err)
}

// RenderHead writes the content of head, the newest active revision, to the file of
// its name if the file has the content of another revision, such as one that was
// withdrawn. It reports whether the file differs from every revision, and was left.
func (w Writer) RenderHead(ctx context.Context, head handoff.Artifact) (edited bool, err error) {
	f, ok := w.fileOf(head)
	if !ok {
		return false, nil
	}
	d, err := f.digest()
	if errors.Is(err, fs.ErrNotExist) || err == nil && d == head.Digest {
		return false, nil
	}
	if err != nil {
		return false, f.fileError(err)
	}
	revisions, err := Revisions(ctx, w.Hub, head.Namespace, head.Name)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(revisions, func(r handoff.Artifact) bool { return r.Digest == d }) {
		return true, nil
	}
	_, err = f.render(ctx)
	return false, f.fileError(err)
}

// Stale reports whether the file of a name has the content of an older revision
// than head, the newest one, or is missing and head is the only one: the process
// that recorded head was killed before it rendered the file. A file that was
// edited, was removed later, or is not where this writer renders it is not stale.
func (w Writer) Stale(ctx context.Context, head handoff.Artifact) (bool, error) {
	f, ok := w.fileOf(head)
	if !ok {
		return false, nil
	}
	d, err := f.digest()
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing || d == head.Digest {
		return false, nil
	}
	revisions, err := Revisions(ctx, w.Hub, head.Namespace, head.Name)
	if err != nil || missing {
		return len(revisions) == 1, err
	}
	for _, r := range slices.Backward(revisions) {
		if r.Digest == d {
			return r.Seq < head.Seq, nil // a later one was withdrawn
		}
	}
	return false, nil
}

// Adopt publishes the content of a name's file as its newest revision and leaves
// the file as it is. Error kinds: those of Write, and NotFound.
func (w Writer) Adopt(ctx context.Context, d handoff.Draft) (Written, error) {
	namespace, err := w.Scope.Namespace()
	if err != nil {
		return Written{}, err
	}
	d.Namespace = namespace
	f := w.file(d)
	if err := f.checkPath(); err != nil {
		return Written{}, f.fileError(err)
	}
	root, err := f.root()
	if err != nil {
		return Written{}, f.fileError(err)
	}
	defer root.Close()
	content, err := root.Open(filepath.FromSlash(d.Name))
	if err != nil {
		return Written{}, f.fileError(err)
	}
	defer content.Close()
	draft := f.draft
	draft.Body = content
	written := Written{File: filepath.Join(f.dir, filepath.FromSlash(d.Name))}
	written.Published, err = w.Hub.Publish(ctx, draft)
	return written, err
}

// Restore renders the file of a name if it is missing. It reports whether it was.
// The file of a revision that this writer renders elsewhere is not restored.
func (w Writer) Restore(ctx context.Context, head handoff.Artifact) (missing bool, err error) {
	f := w.file(handoff.Draft{Name: head.Name, Namespace: head.Namespace, Channel: head.Channel})
	if name, err := Clean(head.Name); err != nil || name != head.Name || f.draft.Path != head.Path ||
		f.draft.Root != head.Root {
		return false, nil
	}
	if err := f.checkPath(); err != nil {
		return false, f.fileError(err)
	}
	if root, err := f.root(); err == nil {
		defer root.Close()
		if _, err := root.Lstat(filepath.FromSlash(head.Name)); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	_, err = f.render(ctx)
	return err == nil, f.fileError(err)
}

// SaveEdit publishes the content of the file of a name as a revision if no
// revision has it: the file was edited outside handoff. It returns nil if there is
// nothing to save, or the file is not where this writer renders it. The kinds of
// its error are those of Write.
func (w Writer) SaveEdit(ctx context.Context, head handoff.Artifact) (*handoff.Artifact, error) {
	f, ok := w.fileOf(head)
	if !ok {
		return nil, nil
	}
	f.draft.Kind, f.draft.Tags = head.Kind, head.Tags
	saved, err := f.saveEdit(ctx)
	if err != nil || len(saved) == 0 {
		return nil, f.fileError(err)
	}
	return &saved[0], nil
}

// fileOf returns the file of a name whose newest revision is head, if this writer
// renders it.
func (w Writer) fileOf(head handoff.Artifact) (f file, ok bool) {
	f = w.file(handoff.Draft{Name: head.Name, Namespace: head.Namespace, Channel: head.Channel})
	name, err := Clean(head.Name)
	return f, err == nil && name == head.Name && filepath.Join(f.dir, filepath.FromSlash(name)) == head.File &&
		f.checkPath() == nil
}

// digest returns the digest of the file as it is.
func (f file) digest() (handoff.Digest, error) {
	root, err := f.root()
	if err != nil {
		return handoff.Digest{}, err
	}
	defer root.Close()
	if info, err := root.Lstat(filepath.FromSlash(f.draft.Name)); err != nil || info.Size() > maxEdit {
		return handoff.Digest{}, cmp.Or[error](err, tooLargeError{f.draft.Name})
	}
	return digestAt(root, f.draft.Name)
}

// A file is the file of one name.
type file struct {
	Writer
	draft handoff.Draft
	dir   string // the directory of its namespace
}

// recordedPath returns the path of the file as a record contains it, and what it
// is relative to.
func (f file) recordedPath() (path, root, dir string) {
	full := filepath.Join(f.dir, filepath.FromSlash(f.draft.Name))
	if rel, err := filepath.Rel(f.Workspace, full); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), "", f.Workspace
	}
	rel, err := filepath.Rel(f.Scope.Dir, full)
	if err != nil {
		rel = f.draft.Name
	}
	return filepath.ToSlash(rel), handoff.SessionRoot, f.Scope.Dir
}

// root opens the directory of the namespace. It returns fs.ErrNotExist if there
// is none yet.
func (f file) root() (*os.Root, error) {
	return f.Scope.open(f.Scope.folders(f.draft.Namespace)...)
}

// fileError gives an error of the file system its kind.
func (f file) fileError(err error) error {
	var known *handoff.Error
	var notPlain notPlainError
	var tooLarge tooLargeError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &tooLarge):
		return handoff.E("write", f.draft.Name, handoff.Conflict, err,
			handoff.Advice("publish the file under its path first, or write under another name"))
	case errors.As(err, &notPlain):
		return handoff.E("write", f.draft.Name, handoff.Conflict, err,
			handoff.Advice("write under another name, or for another run"))
	}
	return handoff.E("write", f.draft.Name, handoff.Unavailable, err,
		handoff.Suggest("publish the content without a name", handoff.ActionStdin))
}

// checkPath returns an error if the file cannot be rendered: its path is not a
// plain file, or a symbolic link leads to it.
func (f file) checkPath() error {
	root, err := f.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for at := f.draft.Name; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(filepath.FromSlash(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil, at == f.draft.Name && !info.Mode().IsRegular(), at != f.draft.Name && !info.IsDir():
			return notPlainError{filepath.Join(f.dir, filepath.FromSlash(at))}
		}
	}
	return nil
}

// maxEdit is the size of the largest file whose edit is saved, in bytes.
const maxEdit = 256 << 20

// tooLargeError means that a file is not replaced, because its content can't be
// saved first.
type tooLargeError struct{ name string }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("%s has no record and is larger than %d MiB", e.name, maxEdit>>20)
}

// saveEdit publishes the content of the file as a revision, unless a revision
// has this content.
func (f file) saveEdit(ctx context.Context) ([]handoff.Artifact, error) {
	root, err := f.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	content, err := root.Open(filepath.FromSlash(f.draft.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	info, err := content.Stat()
	if err == nil && info.Size() > maxEdit {
		err = tooLargeError{filepath.Join(f.dir, filepath.FromSlash(f.draft.Name))}
	}
	if err != nil {
		return nil, err
	}
	d, err := digestOf(content)
	if err != nil {
		return nil, err
	}
	// Queried after the file was read: what another writer rendered into it was
	// recorded before.
	known, err := f.digests(ctx)
	if err != nil || slices.Contains(known, d) {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	edit := f.draft
	edit.Body, edit.Title, edit.Summary, edit.Parents, edit.Replaces, edit.Key = content, "", "", nil, nil, ""
	edit.Claims, edit.Attestation, edit.Tree = nil, nil, nil
	edit.AllowSecret = true // as for the revision that it was made from
	edit.Metadata = map[string]any{"found": "the file had been changed without a record"}
	p, err := f.Hub.Publish(ctx, edit)
	return []handoff.Artifact{p.Artifact}, err
}

// digests returns the digests of every revision of the name.
func (f file) digests(ctx context.Context) ([]handoff.Digest, error) {
	revisions, err := Revisions(ctx, f.Hub, f.draft.Namespace, f.draft.Name)
	var list []handoff.Digest
	for _, a := range revisions {
		list = append(list, a.Digest)
	}
	return list, err
}

// render makes the content of the file that of the name's newest revision. It
// repeats until no newer revision has appeared, so the last of several
// concurrent renderers leaves the newest content.
func (f file) render(ctx context.Context) (saved []handoff.Artifact, err error) {
	root, err := f.Scope.make(f.draft.Namespace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for rendered := ""; ; {
		page, err := f.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: f.draft.Namespace, Name: f.draft.Name, Limit: 1})
		if err != nil || len(page.Artifacts) == 0 || page.Artifacts[0].ID == rendered {
			return saved, err
		}
		head := page.Artifacts[0]
		if d, err := digestAt(root, f.draft.Name); err == nil && d == head.Digest {
			rendered = head.ID
			continue
		}
		edits, err := f.saveEdit(ctx)
		if saved = append(saved, edits...); err != nil {
			return saved, err
		}
		if len(edits) > 0 {
			continue // the edit was published last and is now the head
		}
		if err := f.replace(ctx, root, head); err != nil {
			return saved, err
		}
		rendered = head.ID
	}
}

// replace replaces the file with the content of a revision.
func (f file) replace(ctx context.Context, root *os.Root, head handoff.Artifact) error {
	body, err := f.Hub.Open(ctx, head.ID)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(f.draft.Name)), 0o777); err != nil {
		return err
	}
	return durable.Replace(root, f.draft.Name, func(w io.Writer) error { _, err := io.Copy(w, body); return err })
}

func digestAt(root *os.Root, name string) (handoff.Digest, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return handoff.Digest{}, err
	}
	defer f.Close()
	return digestOf(f)
}

func digestOf(r io.Reader) (handoff.Digest, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum.Sum(nil))}, err
}
