package evidence

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// A Git runs git in a directory and returns its standard output.
type Git func(ctx context.Context, dir string, args ...string) ([]byte, error)

// Trees identifies the content of git worktrees.
type Trees struct {
	Git Git

	// Own are the folders that handoff writes to, slash-separated and relative to
	// the directory of the workspace. They are not part of a tree.
	Own []string
}

// At returns the state of the worktree that dir, which Own is relative to, is in, as it
// is now. It does not depend on what is staged or committed: the content of a file
// counts.
//
// Kinds: NotFound (dir is not in a worktree), Unavailable (git, or a file that can't
// be read or changes while it is read).
func (t Trees) At(ctx context.Context, dir string) (*State, error) {
	w, err := t.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer w.root.Close()
	if err := w.read(ctx); err != nil {
		return nil, treeError(dir, handoff.Unavailable, err)
	}
	s := &State{Tree: handoff.Tree{Digest: w.files.digest()}, Untracked: len(w.untracked), files: w.files, w: w}
	s.compareCommit(ctx)
	return s, nil
}

func treeError(dir string, kind handoff.Kind, err error) error {
	return handoff.E("read tree", dir, kind, err,
		handoff.Advice("commands are attested with a tree in a git repository only"))
}

// A worktree is one whose files are read.
type worktree struct {
	git    Git
	top    string // its directory
	prefix string // of the directory that was named, in it
	root   *os.Root
	newSum func() hash.Hash // of blobs
	own    []string
	depth  int

	files     Files
	same      Files                // entries of the index that git takes for the file, though it may convert it
	untracked map[string]bool      // and not ignored
	modules   map[string]*worktree // submodules with files
}

func (t Trees) open(ctx context.Context, dir string) (*worktree, error) {
	out, err := t.Git(ctx, dir, "rev-parse", "--show-toplevel", "--show-object-format", "--show-prefix")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, treeError(dir, handoff.Unavailable, errors.New("git is not installed"))
	}
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 3 {
		return nil, treeError(dir, handoff.NotFound, errors.New("not a git worktree"))
	}
	w := &worktree{git: t.Git, top: lines[0], prefix: lines[2], newSum: sha1.New, files: Files{}, same: Files{},
		untracked: map[string]bool{}, modules: map[string]*worktree{}}
	if lines[1] == "sha256" {
		w.newSum = sha256.New
	}
	for _, folder := range t.Own {
		if folder != "" && folder != "." {
			w.own = append(w.own, path.Join(w.prefix, folder)+"/")
		}
	}
	if w.root, err = os.OpenRoot(w.top); err != nil {
		return nil, treeError(dir, handoff.Unavailable, err)
	}
	return w, nil
}

// digest returns the digest of the files: of one entry for each, in the order of
// their paths.
func (f Files) digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(sum, "%s\t%s\x00", f[name], name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// read reads the files. The index has the blobs of those that were not changed, unless
// git converts their content.
func (w *worktree) read(ctx context.Context) error {
	index, err := w.list(ctx, "ls-files", "-z", "-v", "--stage", "--full-name")
	if err != nil {
		return err
	}
	// Settings of the repository must not make git overlook a change.
	changed, err := w.list(ctx, "-c", "core.trustctime=true", "-c", "core.checkStat=default", "diff-files", "-z",
		"--name-only", "--no-ext-diff", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	converted, err := w.converted(ctx)
	if err != nil {
		return err
	}
	untracked, err := w.list(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--full-name")
	if err != nil {
		return err
	}
	for _, line := range index {
		if err := w.indexed(ctx, line); err != nil {
			return err
		}
	}
	w.same = maps.Clone(w.files)
	for _, name := range changed {
		delete(w.same, name)
	}
	for _, name := range slices.Concat(changed, converted, untracked) {
		if err := w.onDisk(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range untracked {
		if w.files[name] != "" {
			w.untracked[name] = true
		}
	}
	return nil
}

// conversions select the files that git may convert when they are added. Those that it
// only treats as binary are not among them.
var conversions = []string{":(top,exclude,attr:!text !crlf !eol !filter !ident !working-tree-encoding)",
	":(top,exclude,attr:-text !crlf !eol !filter !ident !working-tree-encoding)"}

// converted returns the tracked files whose blob in the index may be another content
// than that on the disk.
func (w *worktree) converted(ctx context.Context) ([]string, error) {
	selected := conversions
	if all, _ := w.git(ctx, w.top, "config", "--get", "core.autocrlf"); !slices.Contains([]string{"", "false"},
		strings.TrimSpace(string(all))) {
		selected = conversions[1:]
	}
	return w.list(ctx, append([]string{"ls-files", "-z", "--full-name", "--"}, selected...)...)
}

func (w *worktree) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := w.git(ctx, w.top, args...)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// indexed reads an entry of the index: its state, mode, blob, stage and path. git does
// not compare a file with its entry if it is set not to; such a file is read.
func (w *worktree) indexed(ctx context.Context, line string) error {
	head, name, _ := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if len(fields) != 4 {
		return nil // of an empty index
	}
	state, mode, blob := fields[0], fields[1], fields[2]
	switch {
	case w.isOwn(name):
		return nil
	case mode == submodule:
		return w.submodule(ctx, name, blob)
	case state != "H":
		return w.onDisk(ctx, name)
	}
	w.files[name] = mode + " " + blob
	return nil
}

func (w *worktree) isOwn(name string) bool {
	return slices.ContainsFunc(w.own, func(folder string) bool { return strings.HasPrefix(name, folder) })
}

const (
	submodule = "160000" // mode of one in the index
	maxDepth  = 8        // of submodules in submodules
)

// submodule adds the tree of a submodule, or the commit in the index if it has no
// files here.
func (w *worktree) submodule(ctx context.Context, name, commit string) error {
	w.files[name] = submodule + " " + commit
	if info, err := w.root.Lstat(path.Join(name, ".git")); err != nil || info.Mode()&fs.ModeSymlink != 0 ||
		w.depth == maxDepth {
		return nil
	}
	inner, err := Trees{Git: w.git}.open(ctx, filepath.Join(w.top, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer inner.root.Close()
	if inner.prefix != "" {
		return nil // its .git is not a repository
	}
	inner.depth = w.depth + 1
	if err := inner.read(ctx); err != nil {
		return err
	}
	w.files[name], w.modules[name] = submodule+" "+inner.files.digest(), inner
	return nil
}

// onDisk adds a file as it is on the disk, and removes one that is missing. The
// directory of a repository that is not a submodule is ignored.
func (w *worktree) onDisk(ctx context.Context, name string) error {
	if name == "" || w.isOwn(name) || strings.HasPrefix(w.files[name], submodule) {
		return nil
	}
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && info.IsDir():
		delete(w.files, name)
		return nil
	case err != nil:
		return err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		if err != nil {
			return err
		}
		sum := w.blob(int64(len(target)))
		io.WriteString(sum, target)
		w.files[name] = "120000 " + hex.EncodeToString(sum.Sum(nil))
		return nil
	case mode.IsRegular():
		return w.file(ctx, name)
	}
	w.files[name] = "special" // a pipe or a device, which has no content
	return nil
}

// blob starts the digest of a blob of git.
func (w *worktree) blob(size int64) hash.Hash {
	sum := w.newSum()
	fmt.Fprintf(sum, "blob %d\x00", size)
	return sum
}

// file adds a regular file.
func (w *worktree) file(ctx context.Context, name string) error {
	f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum := w.blob(info.Size())
	n, err := io.Copy(sum, contextReader{ctx, io.LimitReader(f, info.Size()+1)})
	if err != nil {
		return err
	}
	if n != info.Size() || !info.Mode().IsRegular() {
		return fmt.Errorf("%s changed while it was read", name)
	}
	mode := "100644 "
	if info.Mode()&0o100 != 0 {
		mode = "100755 "
	}
	w.files[name] = mode + hex.EncodeToString(sum.Sum(nil))
	return nil
}

// A contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
