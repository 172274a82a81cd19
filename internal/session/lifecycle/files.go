package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/session"
)

// List returns the contents of a session's folder, sorted by path. Links are
// listed and not followed. Error kinds: NotFound, Unavailable.
func (ss *Sessions) List(s handoff.Session) ([]session.File, error) {
	root, err := ss.openFolder("list session", s)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries := []session.File{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || name == "." {
			return nil
		}
		if err != nil {
			return err
		}
		entries = append(entries, session.File{Path: filepath.ToSlash(name), Type: typeOf(info.Mode()), Size: info.Size(),
			Modified: jsonl.Encodable(info.ModTime().UTC()), Internal: isInternal(name)})
		return nil
	})
	if err != nil {
		return nil, handoff.E("list session", s.ID, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the folder readable"))
	}
	order.Sort(entries, func(a, b session.File) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

// openFolder opens the folder of a session.
func (ss *Sessions) openFolder(op string, s handoff.Session) (*os.Root, error) {
	root, err := ss.Files.OpenRoot(s.Folder)
	if err == nil {
		return root, nil
	}
	kind := handoff.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = handoff.NotFound
	}
	return nil, handoff.E(op, s.ID, kind, fmt.Errorf("folder %s: %v", s.Folder, durable.Reason(err)),
		handoff.Advice("the folder may be on the machine where the session ran"))
}

// OpenFile opens a file in a session's folder, by its path as in List. Error
// kinds: Invalid (the path leaves the folder or contains a link, or the file is
// not a regular one or handoff's own), NotFound, Unavailable.
func (ss *Sessions) OpenFile(s handoff.Session, name string) (*os.File, error) {
	refused := func(reason string) error {
		return handoff.E("open file", name, handoff.Invalid, errors.New(reason),
			handoff.Advice("name a file of the session's folder"))
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") ||
		isInternal(name) {
		return nil, refused("path is not that of a file of the session")
	}
	full := path.Join(s.Folder, name)
	for i, c := range full {
		if c != '/' {
			continue
		}
		if info, err := ss.Files.Lstat(filepath.FromSlash(full[:i])); err == nil && !info.IsDir() {
			return nil, refused("path contains a link or a file in place of a directory")
		}
	}
	root, err := ss.openFolder("open file", s)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := plainfile.OpenIn(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, handoff.E("open file", name, handoff.NotFound, errors.New("the session's folder does not contain it"),
			handoff.Hint{})
	case errors.Is(err, plainfile.ErrNotRegular):
		return nil, refused("not a regular file")
	case err != nil:
		return nil, handoff.E("open file", name, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the file readable"))
	}
	return f, nil
}
