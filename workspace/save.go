package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
	"golang.org/x/sys/unix"
)

// Save writes a body to a new file, or a directory's to a new directory; what
// is there already is never touched. When it returns nil, all of it is there,
// on stable storage.
//
// Kinds: Conflict (something is there), NotFound (its directory is missing),
// Corrupt, Unavailable.
func Save(ctx context.Context, b handoff.Content, name string) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return unsaved(name, err)
	}
	defer dir.Close()
	return unsaved(name, save(ctx, b, dir, filepath.Base(name)))
}

// PutBack writes a body to the path under which it was published, where
// nothing is now. It is Save in all else; its kind is Unavailable, too, where
// that path is not below this worktree.
func (w *Workspace) PutBack(ctx context.Context, b handoff.Content) error {
	if a := b.Artifact; a.Root == handoff.SessionRoot || a.Root == "" && a.Worktree != w.Linked {
		return &handoff.Error{Op: "write", Name: a.Path, Kind: handoff.Unavailable, Err: errors.New("its place is not below this workspace"),
			Hint: handoff.Advice("handoff read " + a.ID + " --to PATH writes it elsewhere")}
	}
	root := w.files
	if b.Artifact.Root == handoff.RuntimeRoot {
		r, err := w.runtime()
		if err != nil {
			return err
		}
		defer r.Close()
		root = r
	}
	name := filepath.FromSlash(b.Artifact.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return unsaved(b.Artifact.Path, err)
	}
	dir, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return unsaved(b.Artifact.Path, err)
	}
	defer dir.Close()
	return unsaved(b.Artifact.Path, save(ctx, b, dir, filepath.Base(name)))
}

// save writes a body under a name in dir that is free, by way of a temporary.
func save(ctx context.Context, b handoff.Content, dir *os.Root, name string) error {
	temporary := ".handoff-" + rand.Text()
	if b.Artifact.Digest.Algorithm == handoff.SHA256Tar {
		if err := saveDir(ctx, b, dir, name, temporary); err != nil {
			return err
		}
		return syncDir(dir)
	}
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer dir.Remove(temporary)
	_, err = io.Copy(f, b)
	if err = errors.Join(err, f.Sync(), f.Close(), ctx.Err()); err != nil {
		return err
	}
	if err := dir.Link(temporary, name); err != nil {
		return err
	}
	return syncDir(dir)
}

// saveDir takes the name with an empty directory, the only thing that a
// rename of the temporary one replaces.
func saveDir(ctx context.Context, b handoff.Content, dir *os.Root, name, temporary string) (err error) {
	if err := dir.Mkdir(name, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(name))
		}
	}()
	if err := dir.Mkdir(temporary, 0o777); err != nil {
		return err
	}
	into, err := dir.OpenRoot(temporary)
	if err == nil {
		err = errors.Join(content.Unpack(ctx, b, into), into.Close())
	}
	if err == nil {
		err = replaceEmpty(dir, temporary, name)
	}
	if err != nil {
		err = errors.Join(err, dir.RemoveAll(temporary))
	}
	return err
}

// replaceEmpty renames a directory to where an empty one is, which os.Root
// refuses.
func replaceEmpty(dir *os.Root, temporary, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Renameat(int(d.Fd()), temporary, int(d.Fd()), name)
}

func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// unsaved gives an error of the file system its kind.
func unsaved(name string, err error) error {
	var known *handoff.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &handoff.Error{Op: "write", Name: name, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("name a place that can be written with --to PATH, or read to standard output")}
	var p *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &link):
		e.Err = link.Err
	case errors.As(err, &p):
		e.Err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Kind, e.Err, e.Hint = handoff.Conflict, errors.New("something is there already"), handoff.Advice("name a new file with --to PATH")
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Err = handoff.NotFound, fmt.Errorf("%s is no directory", filepath.Dir(name))
	}
	return e
}
