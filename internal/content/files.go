// Package body handles the bytes that artifacts point at: it describes, keeps,
// opens and pages them.
package content

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// DefaultDigestLimit is the size up to which a file that is not kept gets a
// digest.
const DefaultDigestLimit = 64 << 20

// Files are the files of a workspace, below Root. The zero value of all other
// fields is good; Now is needed to recognize files without reading them.
type Files struct {
	Root *os.Root
	Now  func() time.Time

	// Runtime opens the runtime directory, making it where it is missing.
	// RuntimePath is where it lies below Root, "" where it lies elsewhere.
	Runtime     func() (*os.Root, error)
	RuntimePath string

	// Linked is the name of the linked git worktree that Root is, "" for a main
	// one. Worktree returns where another lies, "" where it is gone.
	Linked   string
	Worktree func(name string) string

	// SessionDir returns the directory of the session that a producer worked
	// in, absolute, "" where that is not known.
	SessionDir func(context.Context, handoff.Producer) string

	Keep        handoff.Keep // "" stands for handoff.KeepAuto
	DigestLimit int64        // 0 stands for DefaultDigestLimit
}

var _ handoff.Files = (*Files)(nil)

// Name implements handoff.Files.
func (s *Files) Name() string { return s.Root.Name() }

// Describe implements handoff.Files.
func (s *Files) Describe(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) error {
	if d.Root != handoff.SessionRoot {
		return s.describe(ctx, d, p, to)
	}
	root, err := os.OpenRoot(d.RootDir)
	if err != nil {
		return unreadable("publish", p.Path, err)
	}
	defer root.Close()
	there := *s
	there.Root, there.RuntimePath, there.Linked = root, "", ""
	return there.describe(ctx, d, p, to)
}

func (s *Files) describe(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) error {
	where, err := s.locate(p.Path)
	if err != nil {
		return err
	}
	info, err := s.Root.Lstat(p.Path)
	if err != nil {
		return unreadable("publish", p.Path, err)
	}
	p.TargetType, p.Worktree = "file", s.Linked
	if info.Mode()&fs.ModeSymlink != 0 {
		p.TargetType = "symlink"
		if info, err = s.Root.Stat(where); err != nil {
			return unreadable("publish", p.Path, err)
		}
	}
	switch {
	case info.IsDir():
		if p.TargetType == "file" {
			p.TargetType = "directory"
		}
		p.Kind = cmp.Or(p.Kind, "directory")
		if d.Keep == handoff.KeepAlways {
			err = s.keepDir(ctx, where, p, to)
		}
		return err
	case !info.Mode().IsRegular():
		return &handoff.Error{Op: "publish", Name: p.Path, Kind: handoff.Invalid, Err: errors.New("is neither a file nor a directory"),
			Hint: handoff.Advice("handoff publish - takes a body from standard input")}
	}
	return s.measure(ctx, s.Root, where, d, p, to)
}

// locate returns where a path leads once symbolic links are followed, which
// must lie below the workspace and outside the runtime directory.
func (s *Files) locate(name string) (string, error) {
	refuse := func(reason, hint string) (string, error) {
		return "", &handoff.Error{Op: "publish", Name: name, Kind: handoff.Invalid, Err: errors.New(reason), Hint: handoff.Advice(hint)}
	}
	const below = "write the file below the workspace first, or pass --workspace"
	switch {
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return refuse("path is not text", "")
	case name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return refuse("path leaves the workspace", below)
	case name == ".":
		return refuse("is the workspace itself", "publish a directory within it")
	}
	where, err := s.follow(name)
	if err != nil {
		return "", unreadable("publish", name, err)
	}
	if !filepath.IsLocal(where) {
		return refuse("path leaves the workspace", below)
	}
	if s.RuntimePath != "" {
		inside, err := filepath.Rel(filepath.FromSlash(s.RuntimePath), where)
		if err == nil && (inside == "." || filepath.IsLocal(inside)) {
			return refuse("is part of the runtime directory", "publish files of your own; handoff show ID reads a record")
		}
	}
	return filepath.ToSlash(where), nil
}

// follow returns where a path leads once symbolic links are followed, as the
// workspace sees it.
func (s *Files) follow(name string) (string, error) {
	root, err := filepath.EvalSymlinks(s.Root.Name())
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	return filepath.Rel(root, real)
}

// unreadable gives an error of the file system its kind.
func unreadable(op, name string, err error) error {
	var known *handoff.Error
	switch {
	case errors.Is(err, errChanging):
		return &handoff.Error{Op: op, Name: name, Kind: handoff.Conflict, Err: errChanging, Hint: handoff.Advice("publish it again once its writer is done")}
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &handoff.Error{Op: op, Name: name, Kind: handoff.NotFound, Err: fs.ErrNotExist, Hint: handoff.Advice("write the file first; it is published where it lies")}
	}
	return &handoff.Error{Op: op, Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("publish what this process can read")}
}

// reason strips the operation and the path from an error of the file system,
// which its wrapper names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
