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
	"github.com/agent-handoff/handoff/internal/durable"
	"golang.org/x/sys/unix"
)

// Save writes a body to a new file, or a directory's to a new directory, at a
// path as the caller types it. What exists is never replaced. When Save returns
// nil everything is on stable storage.
//
// Kinds: Conflict (the path exists), NotFound (its directory, or a body without
// a record), Corrupt, Unavailable.
func (w *Workspace) Save(ctx context.Context, b Body, name string) error {
	if err := b.notRecorded(); err != nil {
		return err
	}
	name = w.path(name)
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return unsaved(name, err)
	}
	defer dir.Close()
	return unsaved(name, save(ctx, b.Content, dir, filepath.Base(name)))
}

// Restore writes a body back to the path that it was published from, where
// nothing is now, and returns that path as recorded. Otherwise it is Save;
// its kind is Unavailable, too, if that path is not inside this worktree.
func (w *Workspace) Restore(ctx context.Context, b Body) (string, error) {
	a := b.Artifact
	if err := b.notRecorded(); err != nil {
		return "", err
	}
	if a.Root == handoff.SessionRoot || a.Root == "" && a.Worktree != w.dirs.Linked {
		return "", &handoff.Error{Op: "write", Name: a.Path, Kind: handoff.Unavailable, Err: errors.New("its path is not inside this workspace"),
			Hint: elsewhere(a)}
	}
	root := w.files
	if a.Root == handoff.RuntimeRoot {
		r, err := w.runtime()
		if err != nil {
			return "", err
		}
		defer r.Close()
		root = r
	}
	name := filepath.FromSlash(a.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return "", unrestored(a, err)
	}
	dir, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return "", unrestored(a, err)
	}
	defer dir.Close()
	return a.Path, unrestored(a, save(ctx, b.Content, dir, filepath.Base(name)))
}

// save writes a body under a name in dir that does not exist.
func save(ctx context.Context, b handoff.Content, dir *os.Root, name string) error {
	if b.Artifact.Digest.Algorithm == handoff.SHA256Tar {
		if err := saveDir(ctx, b, dir, name); err != nil {
			return err
		}
		return durable.SyncDir(dir, ".")
	}
	return durable.Create(dir, name, func(to io.Writer) error {
		_, err := io.Copy(to, b)
		return errors.Join(err, ctx.Err())
	})
}

// saveDir reserves the name with an empty directory, the only thing that the
// rename of the temporary one replaces.
func saveDir(ctx context.Context, b handoff.Content, dir *os.Root, name string) (err error) {
	temporary := ".handoff-" + rand.Text()
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

// unsaved gives an error of the file system its kind.
func unsaved(name string, err error) error {
	var known *handoff.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &handoff.Error{Op: "write", Name: name, Kind: handoff.Unavailable, Err: durable.Reason(err), Hint: handoff.Advice("name a writable path, or read to standard output")}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Kind, e.Err, e.Hint = handoff.Conflict, errors.New("already exists"), handoff.Advice("name a new path")
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Err = handoff.NotFound, fmt.Errorf("directory %s does not exist", filepath.Dir(name))
	}
	return e
}

// unrestored gives an error of writing a body back to its path its kind.
func unrestored(a handoff.Artifact, err error) error {
	var e *handoff.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	if errors.As(unsaved(a.Path, err), &e) {
		e.Hint = elsewhere(a)
	}
	return e
}

func elsewhere(a handoff.Artifact) handoff.Hint {
	return handoff.Suggest("write it elsewhere", handoff.ActionReadTo, a.ID, "PATH")
}
