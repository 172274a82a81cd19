package names

import (
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
)

// Written is the answer to Write.
type Written struct {
	handoff.Published

	File    string             // where the name's file is, absolute
	Rescued []handoff.Artifact // revisions made of bytes that lay there and no record told of
}

// A Writer writes the names of one scope.
type Writer struct {
	Hub       *handoff.Hub
	Workspace string // its directory
	Scope     Scope
}

// Write makes what d.Body holds the newest revision of d.Name and renders its
// file. Bytes that lie at the file and that no revision knows, an agent's own
// edit, are made a revision before.
//
// Kinds: Invalid (the name, no run or session), Conflict (something that is no
// file is in the way), and those of Hub.Publish.
func (w Writer) Write(ctx context.Context, d handoff.Draft) (Written, error) {
	namespace, err := w.Scope.Namespace()
	if err != nil {
		return Written{}, err
	}
	if d.Name, err = Clean(d.Name); err != nil {
		return Written{}, err
	}
	d.Namespace = namespace
	f := file{Writer: w, draft: d, dir: w.Scope.folder(namespace)}
	f.draft.Path, f.draft.Root = f.place()
	if err := f.check(); err != nil {
		return Written{}, err
	}
	written := Written{File: filepath.Join(f.dir, filepath.FromSlash(d.Name))}
	if written.Rescued, err = f.rescue(ctx); err != nil {
		return written, err
	}
	draft := f.draft
	draft.Body = d.Body
	if written.Published, err = w.Hub.Publish(ctx, draft); err != nil {
		return written, err
	}
	late, err := f.render(ctx)
	written.Rescued = append(written.Rescued, late...)
	if err != nil {
		// The record stands; the file is made again by the next write.
		written.Warnings = append(written.Warnings, fmt.Sprintf("%s is not up to date: %v", written.File, err))
	}
	return written, nil
}

// A file is where one name is rendered.
type file struct {
	Writer
	draft handoff.Draft
	dir   string // of its namespace
}

// place returns the file's path as records say it.
func (f file) place() (path, root string) {
	full := filepath.Join(f.dir, filepath.FromSlash(f.draft.Name))
	if rel, err := filepath.Rel(f.Workspace, full); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), ""
	}
	rel, err := filepath.Rel(f.Scope.Dir, full)
	if err != nil {
		rel = f.draft.Name
	}
	return filepath.ToSlash(rel), handoff.SessionRoot
}

// root opens the directory of the namespace, which no symbolic link may
// replace. Its error is fs.ErrNotExist where there is none yet.
func (f file) root() (*os.Root, error) {
	for _, dir := range []string{filepath.Dir(f.dir), f.dir} {
		info, err := os.Lstat(dir)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, f.inTheWay(dir)
		}
	}
	return os.OpenRoot(f.dir)
}

func (f file) inTheWay(name string) error {
	return &handoff.Error{Op: "write", Name: f.draft.Name, Kind: handoff.Conflict, Err: fmt.Errorf("%s is in the way: it is no plain file or directory", name),
		Hint: "write under another name"}
}

// check refuses a name whose file can't be rendered: something else is there,
// or a link leads out of the namespace.
func (f file) check() error {
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
			return f.inTheWay(filepath.Join(f.dir, filepath.FromSlash(at)))
		}
	}
	return nil
}

// rescue makes a revision of what lies at the file, if no revision knows it.
func (f file) rescue(ctx context.Context) ([]handoff.Artifact, error) {
	root, err := f.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	known, err := f.digests(ctx)
	if err != nil {
		return nil, err
	}
	content, err := root.Open(filepath.FromSlash(f.draft.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	d, err := digestOf(content)
	if err != nil || slices.Contains(known, d) {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	edit := f.draft
	edit.Body, edit.Title, edit.Summary, edit.Parents, edit.Replaces, edit.Key = content, "", "", nil, nil, ""
	edit.Metadata = map[string]any{"found": "the file had been changed without a record"}
	p, err := f.Hub.Publish(ctx, edit)
	return []handoff.Artifact{p.Artifact}, err
}

// digests returns those of every revision of the name.
func (f file) digests(ctx context.Context) ([]handoff.Digest, error) {
	revisions, err := Revisions(ctx, f.Hub, f.draft.Namespace, f.draft.Name)
	var list []handoff.Digest
	for _, a := range revisions {
		list = append(list, a.Digest)
	}
	return list, err
}

// render makes the file hold what the head of the name holds. After it put
// the file in place it looks again, so that of several who render at once the
// last leaves the newest.
func (f file) render(ctx context.Context) (rescued []handoff.Artifact, err error) {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return nil, err
	}
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for done := ""; ; {
		page, err := f.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: f.draft.Namespace, Name: f.draft.Name, Limit: 1})
		if err != nil || len(page.Artifacts) == 0 || page.Artifacts[0].ID == done {
			return rescued, err
		}
		head := page.Artifacts[0]
		if d, err := digestAt(root, f.draft.Name); err == nil && d == head.Digest {
			done = head.ID
			continue
		}
		edits, err := f.rescue(ctx)
		if rescued = append(rescued, edits...); err != nil {
			return rescued, err
		}
		if len(edits) > 0 {
			continue // the edit came last, and is the head now
		}
		if err := f.put(ctx, root, head); err != nil {
			return rescued, err
		}
		done = head.ID
	}
}

// put replaces the file by what a revision holds.
func (f file) put(ctx context.Context, root *os.Root, head handoff.Artifact) error {
	b, err := f.Hub.Open(ctx, head.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	name := filepath.FromSlash(f.draft.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	temporary, t, err := create(root, filepath.Dir(name), head.ID)
	if err != nil {
		return err
	}
	defer root.Remove(temporary)
	_, err = io.Copy(t, b)
	if err = errors.Join(err, t.Sync(), t.Close()); err != nil {
		return err
	}
	if err := root.Rename(temporary, name); err != nil {
		return err
	}
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// create makes a temporary file that no other renderer has.
func create(root *os.Root, dir, id string) (string, *os.File, error) {
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf("%s%s-%d", temporaryPrefix, id, i))
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return name, f, err
		}
	}
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
