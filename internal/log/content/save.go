package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"golang.org/x/sys/unix"
)

// Save writes a body to a new file, or a directory's to a new directory. What
// exists is never replaced. When Save returns nil everything is on stable
// storage.
//
// Kinds: Conflict (the path exists), NotFound (its directory), Corrupt,
// Unavailable.
func Save(ctx context.Context, b handoff.Content, name string) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return saveError(name, err)
	}
	defer dir.Close()
	return saveError(name, save(ctx, b, dir, filepath.Base(name)))
}

// save writes a body under a name in dir that does not exist.
func save(ctx context.Context, b handoff.Content, dir *os.Root, name string) error {
	if b.Artifact.IsDirectory() {
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
	if err := dir.Mkdir(name, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(name))
		}
	}()
	temporary, err := temporaryDir(dir)
	if err != nil {
		return err
	}
	into, err := dir.OpenRoot(temporary)
	if err == nil {
		err = errors.Join(Unpack(ctx, b, into), into.Close())
	}
	if err == nil {
		_, err = io.Copy(io.Discard, b) // to the end, at which it is verified
	}
	if err == nil {
		err = replaceEmpty(dir, temporary, name)
	}
	if err != nil {
		err = errors.Join(err, dir.RemoveAll(temporary))
	}
	return err
}

// temporaryDir creates a directory with a new name in dir.
func temporaryDir(dir *os.Root) (name string, err error) {
	for i := 0; ; i++ {
		name = fmt.Sprint(".handoff-unpack-", i)
		if err = dir.Mkdir(name, 0o777); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
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

// saveError gives an error of the file system its kind.
func saveError(name string, err error) error {
	var known *handoff.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := handoff.E("write", name, handoff.Unavailable, durable.Reason(err),
		handoff.Advice("name a writable path, or read to standard output"))
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Kind = handoff.Conflict
		e.Err = errors.New("already exists")
		e.Hint = handoff.Advice("name a new path")
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Err = handoff.NotFound, fmt.Errorf("directory %s does not exist", filepath.Dir(name))
	}
	return e
}
