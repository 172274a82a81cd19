package git

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// A Tree is the state of a worktree.
type Tree struct {
	Branch string // "" if HEAD is detached
	Head   string // the ID of its commit, "" before the first one
	Dirty  []Dirty
	More   bool // there are more than maxDirty dirty files
}

// maxDirty is how many dirty files a Tree has.
const maxDirty = 2000

// A Dirty file differs from HEAD, or is untracked.
type Dirty struct {
	Path      string // relative to the root of the worktree; a directory without tracked files ends with a slash
	Untracked bool
}

// Tree returns the state of the worktree. Ignored files are left out, and renames are two files.
func (r Repository) Tree(ctx context.Context) (Tree, error) {
	b, err := Run(ctx, r.Top, "-c", "diff.orderFile=/dev/null", "status", "--porcelain=v2", "--branch", "-z",
		"--no-renames", "--untracked-files=normal", "--ignore-submodules=all")
	if err != nil {
		return Tree{}, err
	}
	var t Tree
	for line := range strings.SplitSeq(string(b), "\x00") {
		kind, rest, _ := strings.Cut(line, " ")
		fields := map[string]int{"1": 8, "u": 10, "?": 1}[kind] // including the path, which may have spaces
		parts := strings.SplitN(rest, " ", fields)
		switch {
		case kind == "#":
			t.header(rest)
		case fields == 0 || len(parts) < fields:
		case len(t.Dirty) == maxDirty:
			t.More = true
		default:
			t.Dirty = append(t.Dirty, Dirty{parts[fields-1], kind == "?"})
		}
	}
	return t, nil
}

func (t *Tree) header(line string) {
	if id, ok := strings.CutPrefix(line, "branch.oid "); ok && id != "(initial)" {
		t.Head = id
	}
	if name, ok := strings.CutPrefix(line, "branch.head "); ok && name != "(detached)" {
		t.Branch = name
	}
}

// Before returns the newest commit of HEAD that was committed before a time, "" for none.
func (r Repository) Before(ctx context.Context, t time.Time) (string, error) {
	b, err := run(ctx, r.Top, "rev-list", "--max-count=1", "--before="+t.UTC().Format(time.RFC3339), "HEAD", "--")
	return strings.TrimSpace(string(b)), err
}

// A Lines is how many lines of a file were added and removed.
type Lines struct{ Added, Removed int }

// Changed returns by path how the files of the worktree differ from a commit. Binary and untracked
// files are left out.
func (r Repository) Changed(ctx context.Context, commit string, paths []string) (map[string]Lines, error) {
	args := []string{"diff", "--numstat", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", "-O/dev/null", "--end-of-options", commit, "--"}
	for _, p := range paths {
		args = append(args, ":(top,literal)"+p)
	}
	b, err := Run(ctx, r.Top, args...)
	list := map[string]Lines{}
	for line := range strings.SplitSeq(string(b), "\x00") {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) < 3 {
			continue
		}
		added, failed := strconv.Atoi(parts[0])
		removed, alsoFailed := strconv.Atoi(parts[1])
		if failed == nil && alsoFailed == nil {
			list[parts[2]] = Lines{added, removed}
		}
	}
	return list, err
}

// Roots returns the IDs of the commits without a parent from which the HEAD of the repository of a
// directory descends.
func Roots(ctx context.Context, dir string) ([]string, error) {
	b, err := run(ctx, dir, "rev-list", "--max-parents=0", "HEAD", "--")
	return strings.Fields(string(b)), err
}
