package git

import (
	"context"
	"errors"
	"strings"
)

// ErrShallow is the reason of an error for a question that the history of a shallow clone can't
// answer.
var ErrShallow = errors.New("the clone is shallow")

// An Entry is what a tree has at a path. The zero value is nothing.
type Entry struct {
	Mode   string // as git writes it: 100644, 100755, 120000 or 160000
	Object string // the name of a blob, or of the commit of a submodule
}

// A Difference is a path at which two trees differ. A rename is two of them.
type Difference struct {
	Path     string // relative to the root of the worktree, slash-separated
	Old, New Entry
}

// SinceFork returns the merge bases of two commits, and the paths at which the tree of head
// differs from that of one of them. Which commits led to head does not matter.
//
// Errors: ErrShallow, ErrNoCommit (the commits have no merge base).
func (r Repository) SinceFork(ctx context.Context, base, head string) (bases []string, list []Difference, err error) {
	shallow, err := run(ctx, r.Top, "rev-parse", "--is-shallow-repository")
	if err == nil && strings.TrimSpace(string(shallow)) != "false" {
		err = ErrShallow
	}
	if err != nil {
		return nil, nil, err
	}
	b, err := run(ctx, r.Top, "--no-replace-objects", "merge-base", "--all", base, head)
	if bases = strings.Fields(string(b)); len(bases) == 0 && ctx.Err() == nil {
		return nil, nil, ErrNoCommit
	}
	for _, fork := range bases {
		raw, failed := run(ctx, r.Top, "--no-replace-objects", "diff-tree", "-r", "--raw", "-z", "--no-renames",
			"--no-abbrev", "--ignore-submodules=none", "-O/dev/null", fork, head, "--")
		more, invalid := parseDifferences(raw)
		list, err = append(list, more...), errors.Join(err, failed, invalid)
	}
	return bases, list, err
}

// parseDifferences parses the output of git diff-tree or diff-index with --raw -z.
func parseDifferences(raw []byte) (list []Difference, err error) {
	fields := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		part := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(part) != 5 {
			return nil, errors.New("unexpected output of git diff --raw")
		}
		list = append(list, Difference{fields[i+1], entry(part[0], part[2]), entry(part[1], part[3])})
	}
	return list, nil
}

// entry returns what a tree has, the zero value for the mode of an absent file.
func entry(mode, object string) Entry {
	if mode == "000000" {
		return Entry{}
	}
	return Entry{mode, object}
}
