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
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// Written is the answer to Write.
type Written struct {
	handoff.Published

	File       string             // where the name's file is, absolute
	SavedEdits []handoff.Artifact // revisions made of bytes that lay there and no record told of
}

// A Writer writes the names of one scope.
type Writer struct {
	Hub       *handoff.Hub
	Workspace string // its directory
	Scope     Scope

	steps func(name string, do func() error) error // a test stops it at any step of a rendering
}

func (w Writer) step(name string, do func() error) error {
	if w.steps == nil {
		return do()
	}
	return w.steps(name, do)
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
	f := file{Writer: w, draft: d, dir: w.Scope.path(namespace)}
	f.draft.Path, f.draft.Root = f.place()
	if err := f.check(); err != nil {
		return Written{}, f.failure(err)
	}
	written := Written{File: filepath.Join(f.dir, filepath.FromSlash(d.Name))}
	if written.SavedEdits, err = f.rescue(ctx); err != nil {
		return written, f.failure(err)
	}
	draft := f.draft
	draft.Body = d.Body
	if written.Published, err = w.Hub.Publish(ctx, draft); err != nil {
		return written, err
	}
	late, err := f.render(ctx)
	written.SavedEdits = append(written.SavedEdits, late...)
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

// root opens the directory of the namespace. Its error is fs.ErrNotExist where
// there is none yet.
func (f file) root() (*os.Root, error) {
	return f.Scope.open(f.Scope.folders(f.draft.Namespace)...)
}

// failure gives an error of the file system its kind.
func (f file) failure(err error) error {
	var known *handoff.Error
	var blocked errInTheWay
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &blocked):
		return &handoff.Error{Op: "write", Name: f.draft.Name, Kind: handoff.Conflict, Err: err, Hint: handoff.Advice("write under another name, or for another run")}
	}
	return &handoff.Error{Op: "write", Name: f.draft.Name, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("handoff publish - --channel CHANNEL takes a body that needs no file of its own")}
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
			return errInTheWay{filepath.Join(f.dir, filepath.FromSlash(at))}
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
	content, err := root.Open(filepath.FromSlash(f.draft.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	d, err := digestOf(content)
	if err != nil {
		return nil, err
	}
	// Asked after the file was read: what others rendered was recorded before.
	known, err := f.digests(ctx)
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
	var root *os.Root
	err = f.step("make the folder", func() (err error) {
		root, err = f.Scope.make(f.draft.Namespace)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for done := ""; ; {
		var page handoff.ArtifactPage
		err := f.step("look", func() (err error) {
			page, err = f.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: f.draft.Namespace, Name: f.draft.Name, Limit: 1})
			return err
		})
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
	var temporary string
	var t *os.File
	err = f.step("make a temporary", func() (err error) {
		temporary, t, err = create(root, f.draft.Name)
		return err
	})
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed { // else another renderer may have taken its name
			t.Close()
			root.Remove(temporary)
		}
	}()
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"fill it", func() error { _, err := io.Copy(t, b); return err }},
		{"sync it", t.Sync},
		{"close it", t.Close},
		{"rename it", func() error { return root.Rename(temporary, name) }},
	} {
		if err := f.step(s.name, s.do); err != nil {
			return err
		}
	}
	renamed = true
	return f.step("sync the directory", func() error { return syncDir(root, filepath.Dir(name)) })
}

func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// staleAfter is the age at which a temporary's process is taken for dead.
const staleAfter = time.Hour

// create makes a temporary file for a name that no other renderer has. Those
// that dead processes left behind go.
func create(root *os.Root, name string) (string, *os.File, error) {
	dir, prefix := filepath.Dir(filepath.FromSlash(name)), fmt.Sprintf("%s%.16s-", temporaryPrefix, digest(name))
	for i := 0; ; i++ {
		temporary := filepath.Join(dir, prefix+strconv.Itoa(i))
		f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		dropStale(root, f, dir, prefix)
		return temporary, f, nil
	}
}

// dropStale removes those of a name's temporaries that are much older than a
// new one, by the clock of the file system.
func dropStale(root *os.Root, f *os.File, dir, prefix string) {
	young, err := f.Stat()
	if err != nil {
		return
	}
	d, err := root.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	there, _ := d.Readdirnames(-1) // what can't be listed stays
	for _, name := range there {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		name = filepath.Join(dir, name)
		if info, err := root.Lstat(name); err == nil && young.ModTime().Sub(info.ModTime()) > staleAfter {
			root.Remove(name)
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
