package evidence

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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

	Now func() time.Time // nil if no file is taken for unchanged by its times
}

// At returns the state of the worktree that dir, which Own is relative to, is in, as it
// is now. It does not depend on what is staged or committed: the content of a file
// counts.
//
// Kinds: NotFound (dir is not in a worktree), Unavailable (git, or a file that can't
// be read or changes while it is read).
func (t Trees) At(ctx context.Context, dir string) (*State, error) {
	s, err := t.at(ctx, dir, nil)
	if err == nil {
		s.compareCommit(ctx)
	}
	return s, err
}

// at returns the state without its commit. It does not read again what was read before
// and did not change.
func (t Trees) at(ctx context.Context, dir string, before map[string]stamped) (*State, error) {
	w, err := t.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer w.root.Close()
	w.dir, w.trees, w.disk.before = dir, t, before
	if err := w.read(ctx); err != nil {
		return nil, treeError(dir, handoff.Unavailable, err)
	}
	return &State{Tree: handoff.Tree{Digest: w.files.digest()}, Untracked: len(w.untracked), files: w.files, w: w}, nil
}

// again returns the state of the worktree as it is now, without its commit.
func (s *State) again(ctx context.Context) (*State, error) {
	now, err := s.w.trees.at(ctx, s.w.dir, s.w.disk.read)
	if err == nil {
		now.Worktree = s.Worktree
	}
	return now, err
}

func treeError(dir string, kind handoff.Kind, err error) error {
	return handoff.E("read tree", dir, kind, err,
		handoff.Advice("commands are attested with a tree in a git repository only"))
}

// A worktree is one whose files are read.
type worktree struct {
	git    Git
	trees  Trees
	dir    string // that was named
	top    string // its directory
	prefix string // of dir, in it
	root   *os.Root
	disk   disk
	own    []string
	depth  int

	files     Files
	same      map[string]string    // entries of the index that git takes for the file, though it may convert it
	untracked map[string]bool      // and not ignored
	modules   map[string]*worktree // submodules, nil if one has no files
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
	w := &worktree{git: t.Git, top: lines[0], prefix: lines[2], same: map[string]string{}, untracked: map[string]bool{},
		modules: map[string]*worktree{}, disk: disk{sum: sha1.New(), read: map[string]stamped{}}}
	if t.Now != nil {
		w.disk.until = t.Now().Add(-settled).UnixNano()
	}
	if lines[1] == "sha256" {
		w.disk.sum = sha256.New()
	}
	for _, folder := range t.Own {
		if folder != "" && folder != "." {
			w.own = append(w.own, path.Join(w.prefix, folder)+"/")
		}
	}
	if w.root, err = os.OpenRoot(w.top); err != nil {
		return nil, treeError(dir, handoff.Unavailable, err)
	}
	w.disk.root = w.root
	return w, nil
}

// read reads the files. The index has the blobs of those that were not changed, unless
// git converts their content.
func (w *worktree) read(ctx context.Context) error {
	var index, changed, converted, untracked []string
	err := together(func() (err error) {
		index, err = w.list(ctx, "ls-files", "-z", "-v", "--stage", "--full-name")
		return err
	}, func() (err error) {
		// Settings of the repository must not make git overlook a change.
		changed, err = w.list(ctx, "-c", "core.trustctime=true", "-c", "core.checkStat=default", "diff-files", "-z",
			"--name-only", "--no-ext-diff", "--no-renames", "--ignore-submodules=dirty")
		return err
	}, func() (err error) {
		converted, err = w.converted(ctx)
		return err
	}, func() (err error) {
		untracked, err = w.list(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--full-name")
		return err
	})
	if err != nil {
		return err
	}
	read := slices.Concat(changed, converted, untracked)
	for _, line := range index {
		f, state := indexed(line)
		switch mode, blob, _ := strings.Cut(f.entry, " "); {
		case f.path == "" || w.isOwn(f.path):
			continue
		case mode == submodule:
			if f.entry, err = w.submodule(ctx, f.path, blob); err != nil {
				return err
			}
		case state != "H": // git does not compare it with its entry
			read = append(read, f.path)
			continue
		}
		w.files = append(w.files, f)
	}
	fromDisk, err := w.onDisk(ctx, read)
	if err != nil {
		return err
	}
	for _, name := range converted {
		w.same[name] = w.files.get(name)
	}
	for _, name := range changed {
		delete(w.same, name)
	}
	w.files = w.files.with(fromDisk)
	for _, name := range untracked {
		if entry := fromDisk.get(name); entry != "" && entry != deleted {
			w.untracked[name] = true
		}
	}
	return nil
}

// together runs functions at the same time, and returns the first error in their order.
func together(list ...func() error) error {
	errs := make([]error, len(list))
	var running sync.WaitGroup
	for i, do := range list {
		running.Go(func() { errs[i] = do() })
	}
	running.Wait()
	return cmp.Or(errs...)
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

// indexed returns the file of an entry of the index, and its state. Such an entry has a
// state, a mode, a blob, a stage, a tab and a path.
func indexed(line string) (f File, state string) {
	head, name, _ := strings.Cut(line, "\t")
	state, entry, _ := strings.Cut(head, " ")
	if i := strings.LastIndexByte(entry, ' '); i > 0 {
		return File{name, entry[:i]}, state
	}
	return File{}, "" // of an empty index
}

func (w *worktree) isOwn(name string) bool {
	return slices.ContainsFunc(w.own, func(folder string) bool { return strings.HasPrefix(name, folder) })
}

const (
	submodule = "160000" // mode of one in the index
	maxDepth  = 8        // of submodules in submodules
)

// submodule returns the entry of a submodule: its tree, or the commit in the index if it
// has no files here.
func (w *worktree) submodule(ctx context.Context, name, commit string) (string, error) {
	w.modules[name] = nil
	if info, err := w.root.Lstat(path.Join(name, ".git")); err != nil || info.Mode()&fs.ModeSymlink != 0 ||
		w.depth == maxDepth {
		return submodule + " " + commit, nil
	}
	inner, err := Trees{Git: w.git}.open(ctx, filepath.Join(w.top, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	defer inner.root.Close()
	if inner.prefix != "" {
		return submodule + " " + commit, nil // its .git is not a repository
	}
	inner.depth = w.depth + 1
	if err := inner.read(ctx); err != nil {
		return "", err
	}
	w.modules[name] = inner
	return submodule + " " + inner.files.digest(), nil
}

// onDisk returns files as they are on the disk. The directory of a repository that is
// not a submodule is ignored.
func (w *worktree) onDisk(ctx context.Context, names []string) (files Files, err error) {
	defer w.disk.close()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, module := w.modules[name]; name == "" || module || w.isOwn(name) {
			continue
		}
		entry, err := w.disk.entry(ctx, name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, entry})
	}
	return files, nil
}
