package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// A Writing writes changes to the working tree of a repository.
type Writing struct {
	r       Repository
	root    *os.Root
	list    []Change
	deleted map[string]bool
	modes   bool // the file system has executable bits
}

// Begin checks that changes can be written to the working tree that a directory is in: each
// file is as in HEAD, in the working tree and in the index, or as it is to be. So what a
// killed process began can be completed. Close the result.
//
// Errors: ErrDiffers, ErrUnsafe (the settings of the repository name another directory, or a
// path leads through a link or into another repository).
func (r Repository) Begin(ctx context.Context, dir string, list []Change) (w *Writing, err error) {
	if top := topOf(dir); top != r.Top {
		return nil, fmt.Errorf("the working tree %s is not the one that %s is in: %w", r.Top, dir, ErrUnsafe)
	}
	root, err := os.OpenRoot(r.Top)
	if err != nil {
		return nil, err
	}
	w = &Writing{r: r, root: root, list: list, deleted: map[string]bool{}, modes: true}
	if b, err := run(ctx, r.Top, "config", "--type=bool", "core.fileMode"); err == nil {
		w.modes = strings.TrimSpace(string(b)) != "false"
	}
	for _, c := range list {
		if c.new == "" {
			w.deleted[c.Path] = true
		}
	}
	if err = w.checkIndex(ctx); err == nil {
		err = w.check()
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return w, nil
}

// Close releases the working tree.
func (w *Writing) Close() error { return w.root.Close() }

// topOf returns the nearest directory with an entry .git, from dir upward, "" for none.
func topOf(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

// checkIndex returns ErrDiffers if one of the files has another content in the index.
func (w *Writing) checkIndex(ctx context.Context) error {
	raw, err := run(ctx, w.r.Top, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD", "--")
	if err != nil {
		return err
	}
	staged := map[string]string{}
	fields := strings.Split(string(raw), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if part := strings.Fields(fields[i]); len(part) == 5 {
			staged[fields[i+1]] = strings.TrimLeft(part[3], "0")
		}
	}
	for _, c := range w.list {
		if blob, ok := staged[c.Path]; ok && blob != strings.TrimLeft(c.new, "0") {
			return fmt.Errorf("%s has uncommitted changes in the index: %w", c.Path, ErrDiffers)
		}
	}
	return nil
}

func (w *Writing) check() error {
	for _, c := range w.list {
		_, err := w.parents(c.Path)
		if err == nil {
			_, err = w.written(c)
		}
		if err != nil {
			return fmt.Errorf("%s %w", c.Path, err)
		}
	}
	return nil
}

// parents checks the directories above a path, and returns those that do not exist.
func (w *Writing) parents(name string) (missing []string, err error) {
	for i, r := range name {
		if r != '/' {
			continue
		}
		dir := name[:i]
		info, err := w.root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode().IsRegular() && w.deleted[dir]):
			missing = append(missing, dir)
			continue
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, fmt.Errorf("is below %s, which is not a directory: %w", dir, ErrUnsafe)
		}
		if _, err := w.root.Lstat(dir + "/.git"); err == nil {
			return nil, fmt.Errorf("is in the repository %s: %w", dir, ErrUnsafe)
		}
	}
	return missing, nil
}

// written reports whether a file is as it is to be. It returns ErrDiffers if it is not as in
// HEAD either.
func (w *Writing) written(c Change) (bool, error) {
	info, err := w.root.Lstat(c.Path)
	if err != nil {
		if missing, _ := w.parents(c.Path); len(missing) == 0 && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if c.old != "" && c.new != "" {
			return false, fmt.Errorf("is missing: %w", ErrDiffers)
		}
		return c.new == "", nil
	}
	if info.IsDir() && c.old == "" && w.empties(c.Path) {
		return false, nil
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("is not a regular file: %w", ErrDiffers)
	}
	f, err := w.root.Open(c.Path)
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxApplied+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	executable := info.Mode()&0o100 != 0
	switch id := w.r.BlobID(b); {
	case id == c.new && (!w.modes || executable == c.Executable):
		return true, nil
	case id == c.old && (!w.modes || executable == c.wasExecutable):
		return false, nil
	case c.old == "":
		return false, fmt.Errorf("exists already, with another content or mode: %w", ErrDiffers)
	}
	return false, fmt.Errorf("has uncommitted changes: %w", ErrDiffers)
}

// empties reports whether the changes delete files below a directory.
func (w *Writing) empties(dir string) bool {
	for name := range w.deleted {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// Done reports whether every file is as it is to be.
func (w *Writing) Done() bool {
	for _, c := range w.list {
		if done, err := w.written(c); err != nil || !done {
			return false
		}
	}
	return true
}

// Write writes the changes. If one fails, it takes the others back.
func (w *Writing) Write(ctx context.Context) error {
	var undo []func() error
	err := w.write(ctx, &undo)
	if err == nil {
		return nil
	}
	for i := len(undo) - 1; i >= 0; i-- {
		err = errors.Join(err, undo[i]())
	}
	return err
}

func (w *Writing) write(ctx context.Context, undo *[]func() error) error {
	for _, deleting := range []bool{true, false} { // first, so that a file may become a directory
		for _, c := range w.list {
			if w.deleted[c.Path] != deleting {
				continue
			}
			done, err := w.written(c)
			if err == nil && !done {
				err = ctx.Err()
			}
			if err == nil && !done {
				err = w.one(ctx, c, undo)
			}
			if err != nil {
				return fmt.Errorf("%s %w", c.Path, err)
			}
		}
	}
	return nil
}

func (w *Writing) one(ctx context.Context, c Change, undo *[]func() error) error {
	restore := func() error {
		b, err := run(context.WithoutCancel(ctx), w.r.Top, "--no-replace-objects", "cat-file", "blob", c.old)
		if err == nil {
			err = w.put(c.Path, b, c.wasExecutable)
		}
		return err
	}
	if c.new == "" {
		if err := w.root.Remove(c.Path); err != nil {
			return err
		}
		*undo = append(*undo, restore)
		dir := path.Dir(c.Path)
		for dir != "." && w.root.Remove(dir) == nil { // git has no empty directories
			dir = path.Dir(dir)
		}
		return durable.SyncDir(w.root, dir)
	}
	missing, err := w.parents(c.Path)
	if err != nil {
		return err
	}
	if c.old == "" {
		restore = func() (err error) {
			for _, name := range append(missing, c.Path) {
				defer func() {
					if e := w.root.Remove(name); !errors.Is(e, fs.ErrNotExist) {
						err = errors.Join(err, e)
					}
				}()
			}
			return nil
		}
	}
	*undo = append(*undo, restore)
	return w.put(c.Path, c.Content, c.Executable)
}

// put writes a file and the directories above it.
func (w *Writing) put(name string, content []byte, executable bool) error {
	missing, err := w.parents(name)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := w.root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
	}
	err = durable.Replace(w.root, name, func(to io.Writer) error {
		if _, err := to.Write(content); err != nil {
			return err
		}
		f, ok := to.(*os.File)
		if !ok {
			return nil
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() &^ 0o111
		if executable {
			mode |= mode & 0o444 >> 2
		}
		return f.Chmod(mode)
	})
	if err == nil && len(missing) > 0 {
		err = durable.SyncParents(w.root, name)
	}
	return err
}
