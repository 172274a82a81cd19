package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff/internal/tool/safepath"
)

// The reasons of errors of Patched, Placed and Write.
var (
	ErrNoPatch = errors.New("not a patch")
	ErrUnsafe  = errors.New("not allowed") // what may run a program, or leaves the working tree
	ErrDiffers = errors.New("does not fit the working tree")
)

// A Change is what becomes of one file of HEAD.
type Change struct {
	Path       string // relative to the root of the worktree, slash-separated
	Content    []byte // the new one
	Executable bool   // is the new one

	old, new      string // blobs, "" if absent
	wasExecutable bool
}

// Kind returns A, M or D: the file is added, modified or deleted.
func (c Change) Kind() string {
	switch {
	case c.old == "":
		return "A"
	case c.new == "":
		return "D"
	}
	return "M"
}

// Result returns what becomes of the path.
func (c Change) Result() Entry {
	switch {
	case c.new == "":
		return Entry{}
	case c.Executable:
		return Entry{"100755", c.new}
	}
	return Entry{"100644", c.new}
}

// MaxApplied limits the bytes of a patch, and of all files that it makes.
const MaxApplied = 128 << 20

// Patched returns what a patch makes of the files of HEAD, and the commit. It writes
// nothing to the repository: git computes the result in an index and an object directory
// of its own, and never reads the working tree.
//
// Errors: ErrNoCommit, ErrNoPatch, ErrUnsafe, ErrDiffers (it can't be applied).
func (r Repository) Patched(ctx context.Context, patch []byte) (head string, list []Change, err error) {
	if head, err = r.Resolve(ctx, "HEAD"); err != nil {
		return "", nil, err
	}
	list, err = r.PatchedAt(ctx, head, patch)
	return head, list, err
}

// PatchedAt is Patched for the files of another commit.
func (r Repository) PatchedAt(ctx context.Context, commit string, patch []byte) (list []Change, err error) {
	dir, err := os.MkdirTemp("", "handoff-apply-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := private{r, dir}
	if err := d.create(ctx); err != nil {
		return nil, err
	}
	if _, err := d.run(ctx, nil, "read-tree", "--no-sparse-checkout", commit); err != nil {
		return nil, err
	}
	_, err = d.run(ctx, patch, "-c", "apply.ignoreWhitespace=no", "apply", "--cached", "--whitespace=nowarn", "-")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && strings.Contains(err.Error(), "No valid patches"):
		return nil, ErrNoPatch
	case err != nil:
		reason, kind := strings.TrimPrefix(err.Error(), "error: "), ErrDiffers
		if strings.Contains(reason, "invalid path") || strings.Contains(reason, "beyond a symbolic link") {
			kind = ErrUnsafe
		}
		return nil, fmt.Errorf("%w: %s", kind, reason)
	}
	raw, err := d.run(ctx, nil, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none", commit, "--")
	if err != nil {
		return nil, err
	}
	if list, err = parseChanges(raw); err == nil {
		err = d.load(ctx, list)
	}
	return list, err
}

// private is an index and an object directory beside those of a repository.
type private struct {
	r   Repository
	dir string
}

func (d private) create(ctx context.Context) error {
	objects, err := run(ctx, d.r.Top, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return err
	}
	info := filepath.Join(d.dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), objects, 0o600)
}

func (d private) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(d.dir, "index"),
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(d.dir, "objects"),
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOC_LIMIT=" + strconv.Itoa(2*MaxApplied), "LC_ALL=C"}
	args = append([]string{"-c", "core.splitIndex=false", "-c", "index.sparse=false"}, args...)
	return runWith(ctx, d.r.Top, env, bytes.NewReader(stdin), args...)
}

// load reads the new contents.
func (d private) load(ctx context.Context, list []Change) error {
	var ids bytes.Buffer
	for _, c := range list {
		if c.new != "" {
			fmt.Fprintln(&ids, c.new)
		}
	}
	sizes, err := d.run(ctx, ids.Bytes(), "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return err
	}
	total := int64(0)
	for _, line := range strings.Fields(string(sizes)) {
		n, err := strconv.ParseInt(line, 10, 64)
		if total += n; err != nil || total > MaxApplied {
			return fmt.Errorf("%w: its files have more than %d bytes", ErrUnsafe, MaxApplied)
		}
	}
	b, err := d.run(ctx, ids.Bytes(), "cat-file", "--batch=%(objectsize)")
	for i := range list {
		if list[i].new == "" || err != nil {
			continue
		}
		var n int
		head, rest, _ := bytes.Cut(b, []byte("\n"))
		if n, err = strconv.Atoi(string(head)); err == nil && n >= len(rest) {
			err = errors.New("unexpected output of git cat-file")
		}
		if err == nil {
			list[i].Content, b = rest[:n:n], rest[n+1:]
		}
	}
	return err
}

// parseChanges parses the output of git diff-index --raw -z. Errors: ErrUnsafe.
func parseChanges(raw []byte) (list []Change, err error) {
	differences, err := parseDifferences(raw)
	for _, d := range differences {
		c := Change{Path: d.Path, old: d.Old.Object, new: d.New.Object}
		if c.wasExecutable, err = executable(d.Old.Mode); err == nil {
			c.Executable, err = executable(d.New.Mode)
		}
		if err == nil {
			err = checkPath(c.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("%q %w", c.Path, err)
		}
		list = append(list, c)
	}
	return list, err
}

// executable returns whether a mode is that of an executable file. "" is an absent file.
func executable(mode string) (bool, error) {
	switch mode {
	case "", "100644", "100755":
		return mode == "100755", nil
	case "120000":
		return false, fmt.Errorf("is a symbolic link: %w", ErrUnsafe)
	case "160000":
		return false, fmt.Errorf("is a submodule: %w", ErrUnsafe)
	}
	return false, fmt.Errorf("has the mode %s: %w", mode, ErrUnsafe)
}

// checkPath returns an error for a path that may not be written.
func checkPath(path string) error {
	if !filepath.IsLocal(path) || path == "." {
		return fmt.Errorf("leaves the working tree: %w", ErrUnsafe)
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		return fmt.Errorf("has a control character: %w", ErrUnsafe)
	}
	if err := safepath.Check(path); err != nil {
		return fmt.Errorf("%w: %w", err, ErrUnsafe)
	}
	return nil
}

// Placed returns the changes by which files of some contents are added to HEAD or replace
// those of HEAD, and the commit. Only Path, Content and Executable of the files are used.
//
// Errors: ErrNoCommit, ErrUnsafe.
func (r Repository) Placed(ctx context.Context, files []Change) (head string, list []Change, err error) {
	if head, err = r.Resolve(ctx, "HEAD"); err != nil {
		return "", nil, err
	}
	b, err := run(ctx, r.Top, "--no-replace-objects", "ls-tree", "-r", "-z", "--full-tree", head)
	if err != nil {
		return "", nil, err
	}
	known := map[string][]string{}
	for entry := range strings.SplitSeq(string(b), "\x00") {
		if about, path, ok := strings.Cut(entry, "\t"); ok {
			known[path] = strings.Fields(about)
		}
	}
	for _, c := range files {
		err := checkPath(c.Path)
		if old := known[c.Path]; len(old) == 3 && err == nil {
			c.old = old[2]
			c.wasExecutable, err = executable(old[0])
		}
		if err != nil {
			return "", nil, fmt.Errorf("%q %w", c.Path, err)
		}
		c.new = r.BlobID(c.Content)
		if c.new != c.old || c.Executable != c.wasExecutable {
			list = append(list, c)
		}
	}
	return head, list, nil
}
