// Package content reads the files that artifacts point at: it measures and keeps
// them, compares them with what was published, and copies pages of them.
package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// DefaultDigestLimit is the size, in bytes, up to which a file that is not kept
// gets a digest.
const DefaultDigestLimit = 64 << 20

// DefaultWorktreeKeep is the size, in bytes, up to which a body published in a
// linked git worktree is kept.
const DefaultWorktreeKeep = 256 << 20

// Files is the handoff.Files of a workspace. Only Root is required.
type Files struct {
	Root *os.Root         // of the workspace
	Now  func() time.Time // if nil, Stat and Open return no fingerprints

	// Runtime opens the runtime directory and creates it if it is missing.
	// RuntimeDir is its absolute path, RuntimePath the one relative to Root, "" if it
	// is outside.
	Runtime     func() (*os.Root, error)
	RuntimeDir  string
	RuntimePath string

	// Linked is the name of the linked git worktree at Root, "" for a main
	// worktree. Worktree returns the absolute path of another worktree, "" if it
	// does not exist any more.
	Linked   string
	Worktree func(name string) string

	// Branch returns the branch of the worktree at Root, "" for none. If nil, there is none.
	Branch func() string

	// SessionDir returns the absolute path of the directory of a producer's
	// session, "" if it is unknown.
	SessionDir func(context.Context, handoff.Producer) string

	// Origin returns the ID of the runtime directory, "" if it has none. A file of
	// another one is never opened. Here reports whether a kept copy is on this
	// machine; if nil, all are.
	Origin func() (string, error)
	Here   func(context.Context, handoff.Digest) (bool, error)

	// Reading is called while a file or directory is read, with the number of bytes that were
	// read and its size. It may be nil.
	Reading func(done, total int64)

	Keep        handoff.Keep // default handoff.KeepAuto
	DigestLimit int64        // default DefaultDigestLimit

	// WorktreeKeep is the size up to which handoff.KeepAuto keeps a file or
	// directory published in a linked worktree. Default DefaultWorktreeKeep.
	WorktreeKeep int64
}

var _ handoff.Files = (*Files)(nil)

// Name implements handoff.Files.
func (s *Files) Name() string { return s.Root.Name() }

// Describe implements handoff.Files.
func (s *Files) Describe(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished,
	to handoff.Bodies) (handoff.FileState, error) {
	if d.Root != handoff.SessionRoot {
		return s.describe(ctx, d, p, to, s.autoKeep())
	}
	root, err := os.OpenRoot(d.RootDir)
	if err != nil {
		return handoff.FileState{}, fileError(p.Path, err)
	}
	defer root.Close()
	there := *s
	there.Root = root
	there.RuntimePath = ""
	there.Linked = ""
	return there.describe(ctx, d, p, to, s.autoKeep())
}

// branch returns what is recorded as the branch of a publication.
func (s *Files) branch() string {
	if s.Branch == nil {
		return ""
	}
	return s.Branch()
}

// describe is Describe for a file in Root. It keeps what KeepAuto selects up to
// the given size.
func (s *Files) describe(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies,
	limit int64) (state handoff.FileState, err error) {
	p.Path = s.relative(p.Path)
	where, err := s.locate(p.Path)
	if err != nil {
		return state, err
	}
	info, err := s.Root.Lstat(p.Path)
	if err != nil {
		return state, fileError(p.Path, err)
	}
	p.TargetType = "file"
	p.Worktree = s.Linked
	p.Branch = s.branch()
	if info.Mode()&fs.ModeSymlink != 0 {
		p.TargetType = "symlink"
		if info, err = s.Root.Stat(where); err != nil {
			return state, fileError(p.Path, err)
		}
	}
	if err := s.checkCredentials(ctx, d, p.Path, where, info.IsDir()); err != nil {
		return state, err
	}
	state = handoff.FileState{Path: filepath.Join(s.Root.Name(), filepath.FromSlash(p.Path)), Target: handoff.Available}
	switch {
	case info.IsDir():
		if p.TargetType == "file" {
			p.TargetType = "directory"
		}
		p.Kind = cmp.Or(p.Kind, "directory")
		state.NotKept, err = s.measureDir(ctx, where, d, p, to, limit)
	case !info.Mode().IsRegular():
		return state, handoff.E("publish", p.Path, handoff.Invalid, errors.New("is neither a file nor a directory"),
			handoff.Suggest("publish content from standard input", handoff.ActionStdin))
	default:
		state.Fingerprint, err = s.measure(ctx, s.Root, where, d, p, to, limit)
		if !p.Kept && d.Keep != handoff.KeepNever && to != nil {
			state.NotKept = notKeptReason(cmp.Or(d.Keep, s.Keep), limit)
		}
	}
	if p.Digest == (handoff.Digest{}) {
		state.Target = handoff.Unknown // nothing can be compared with it
	}
	return state, err
}

// relative returns a path in its shortest form, relative to Root if it is absolute
// and inside.
func (s *Files) relative(name string) string {
	if filepath.IsAbs(name) {
		for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
			root, err := resolve(s.Root.Name())
			if rel, outside := filepath.Rel(root, name); err == nil && outside == nil && filepath.IsLocal(rel) {
				name = rel
				break
			}
		}
	}
	return path.Clean(filepath.ToSlash(name))
}

// locate returns the path that a path resolves to, following symbolic links. It
// must be inside the workspace and outside the runtime directory and .git.
func (s *Files) locate(name string) (string, error) {
	refuse := func(reason string, hint handoff.Hint) (string, error) {
		return "", handoff.E("publish", name, handoff.Invalid, errors.New(reason), hint)
	}
	inside := handoff.Advice("write the file inside the workspace").
		OrSet("HANDOFF_WORKSPACE to a directory that contains it")
	switch {
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return refuse("path contains NUL or invalid UTF-8", handoff.Hint{})
	case name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return refuse("path leaves the workspace", inside)
	case name == ".":
		return refuse("is the workspace itself", handoff.Advice("publish a directory inside it"))
	}
	where, err := s.resolve(name)
	if target, broken := s.Root.Readlink(filepath.FromSlash(name)); broken == nil && errors.Is(err, fs.ErrNotExist) {
		return "", handoff.E("publish", name, handoff.NotFound, fmt.Errorf("is a broken symbolic link to %s", target),
			handoff.Advice("write the file that it points to, or publish another path"))
	}
	if err != nil {
		return "", fileError(name, err)
	}
	if !filepath.IsLocal(where) {
		return refuse("path leaves the workspace", inside)
	}
	if s.RuntimePath != "" {
		rel, err := filepath.Rel(filepath.FromSlash(s.RuntimePath), where)
		if err == nil && filepath.IsLocal(rel) {
			return refuse("is in the runtime directory",
				handoff.Suggest("see the record of an artifact", handoff.ActionShow, "ID"))
		}
	}
	for _, checked := range []string{name, where} {
		if err := safepath.Check(checked); err != nil {
			return refuse(err.Error(), handoff.Advice("publish a file of the project"))
		}
	}
	return filepath.ToSlash(where), nil
}

// resolve follows the symbolic links of a path and returns the result relative to
// the workspace.
func (s *Files) resolve(name string) (string, error) {
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

// fileError returns an error about a file that is published, with its kind.
func fileError(name string, err error) error {
	var known *handoff.Error
	switch {
	case errors.Is(err, errChanging):
		return handoff.E("publish", name, handoff.Conflict, errChanging,
			handoff.Advice("publish it again when its writer has finished"))
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return handoff.E("publish", name, handoff.NotFound, fs.ErrNotExist,
			handoff.Advice("write the file before you publish it"))
	}
	return handoff.E("publish", name, handoff.Unavailable, durable.Reason(err),
		handoff.Advice("check the permissions of the file"))
}

// OpenRegular opens a regular file to store its content. It is named in errors
// as it was typed. Kinds: NotFound, Invalid (not a regular file), Unavailable.
func OpenRegular(name, typed string) (*os.File, error) {
	fail := func(kind handoff.Kind, err error) error {
		return handoff.E("write", typed, kind, durable.Reason(err),
			handoff.Advice("name a readable file, or - for standard input"))
	}
	f, err := plainfile.OpenLinked(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, broken := os.Readlink(name); broken == nil {
			err = fmt.Errorf("is a broken symbolic link to %s", target)
		}
		return nil, fail(handoff.NotFound, err)
	case errors.Is(err, plainfile.ErrNotRegular):
		return nil, fail(handoff.Invalid, err)
	case err != nil:
		return nil, fail(handoff.Unavailable, err)
	}
	return f, nil
}
