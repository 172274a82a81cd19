package gate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/pipeline"
)

// A Scope is the changes that a gate compares, with what it compares them with.
type Scope struct {
	pipeline.Changes

	// PlannedBy returns the issue of another run that plans to change a file, ""
	// if there is none. It may be nil.
	PlannedBy func(file string) string

	merge *merge // what git knows about the result of a merge stage, nil if it was not looked up
}

// planner names the other run that plans to change a file.
func (s *Scope) planner(file string) string {
	if s.PlannedBy != nil {
		if issue := s.PlannedBy(file); issue != "" {
			return "; run " + issue + " plans it, which needs its own worktree"
		}
	}
	return ""
}

// A Git runs git in a directory and returns its standard output, as git.Run does.
type Git func(ctx context.Context, dir string, args ...string) ([]byte, error)

// A Repository is the git repository of a workspace.
type Repository struct {
	Git       Git
	Workspace string // absolute

	// Own are the folders that handoff writes to, relative to the workspace. What
	// is in them is not a change.
	Own []string
}

// bases are the default bases, with the default branch of git; the first one that
// exists is used.
var bases = []string{"origin/HEAD", "main", "master", "trunk", "develop"}

// Changes returns the files that changed in the repository since the merge base
// of HEAD and base: committed, staged, unstaged and untracked. A rename is two
// paths. The default base is the main branch, or HEAD if there is no other branch. Its
// kinds are NotFound (no repository), Invalid (unknown base) and Unavailable.
func (r Repository) Changes(ctx context.Context, base string) (Scope, error) {
	top, prefix, err := r.top(ctx)
	if err != nil {
		return Scope{}, err
	}
	commit, err := mergeBase(ctx, r.Git, top, base)
	if err != nil {
		return Scope{}, r.error(base, handoff.Invalid, err, "name a branch, a tag or a commit as the base")
	}
	files := map[string]bool{}
	for _, args := range listings(commit) {
		names, err := r.list(ctx, top, prefix, args...)
		if err != nil {
			return Scope{}, err
		}
		for _, name := range names {
			files[name] = true
		}
	}
	return Scope{Changes: pipeline.Changes{Base: commit, Changed: slices.Sorted(maps.Keys(files))}}, nil
}

func (r Repository) error(name string, kind handoff.Kind, err error, hint string) error {
	return handoff.E("scope", cmp.Or(name, r.Workspace), kind, err, handoff.Advice(hint))
}

// top returns the directory of the repository, and the path of the workspace in
// it.
func (r Repository) top(ctx context.Context) (dir, prefix string, err error) {
	b, err := r.Git(ctx, r.Workspace, "rev-parse", "--show-toplevel", "--show-prefix")
	if errors.Is(err, exec.ErrNotFound) {
		return "", "", r.error("", handoff.Unavailable, git.ErrNotInstalled, "install git")
	}
	if err != nil {
		return "", "", r.error("", handoff.NotFound, errors.New("not a git repository, so changes can't be determined"),
			"use a workspace in a git repository")
	}
	dir, prefix, _ = strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	return dir, prefix, nil
}

// list returns the paths that a git command prints, relative to the workspace,
// except those in the folders that handoff writes to.
func (r Repository) list(ctx context.Context, top, prefix string, args ...string) ([]string, error) {
	out, err := r.Git(ctx, top, args...)
	if err != nil {
		return nil, r.error("", handoff.Unavailable, err, "")
	}
	var files []string
	for _, name := range strings.Split(string(out), "\x00") {
		if file := relative(prefix, name); name != "" && !r.owns(file) {
			files = append(files, file)
		}
	}
	return files, nil
}

func (r Repository) owns(file string) bool {
	return slices.ContainsFunc(r.Own, func(folder string) bool {
		return folder != "." && strings.HasPrefix(file, folder+"/")
	})
}

// listings returns the git commands that together list every change since a
// commit. The index and the working tree are listed separately: a change that was
// staged and then undone in the working tree would still be committed.
func listings(commit string) [][]string {
	untracked := []string{"ls-files", "-z", "--others", "--exclude-standard", "--full-name"}
	if commit == "" {
		return [][]string{untracked, {"ls-files", "-z", "--cached", "--full-name"}}
	}
	return [][]string{diff(commit, "HEAD"), diff("--cached", commit), diff(commit), untracked}
}

// diff returns the git command that lists the files that differ between commits,
// or between a commit and the index or the working tree. Of a submodule, only the
// commit is compared, because git would run in it with its settings.
func diff(args ...string) []string {
	options := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative",
		"--ignore-submodules=dirty", "--name-only", "-z"}
	return append(append(options, args...), "--")
}

// mergeBase returns the merge base of HEAD and base, "" before the first commit.
func mergeBase(ctx context.Context, run Git, dir, base string) (string, error) {
	head, err := commitOf(ctx, run, dir, "HEAD")
	if err != nil && base == "" {
		return "", nil
	}
	if base != "" {
		return firstBase(ctx, run, dir, head, base)
	}
	configured, _ := run(ctx, dir, "config", "--get", "init.defaultBranch")
	if b, err := firstBase(ctx, run, dir, head,
		append(slices.Clone(bases), strings.TrimSpace(string(configured)))...); err == nil {
		return b, nil
	}
	refs, err := run(ctx, dir, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
	switch names := strings.Fields(string(refs)); {
	case err != nil || len(names) == 0:
		return head, err
	case len(names) == 1: // it is the main branch
		return firstBase(ctx, run, dir, head, names...)
	}
	return "", errors.New("the main branch is not known")
}

// firstBase returns the merge base of head and the first of several commits that has
// one.
func firstBase(ctx context.Context, run Git, dir, head string, names ...string) (string, error) {
	for _, name := range names {
		if commit, err := commitOf(ctx, run, dir, name); err == nil {
			if b, err := run(ctx, dir, "merge-base", commit, head); err == nil {
				return strings.TrimSpace(string(b)), nil
			}
		}
	}
	return "", errors.New("not a commit that has one in common with HEAD")
}

func commitOf(ctx context.Context, run Git, dir, name string) (string, error) {
	b, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(b)), err
}

// relative turns a path relative to the repository into one relative to the
// workspace, which is at prefix.
func relative(prefix, name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(path.Clean("/"+prefix)), filepath.FromSlash("/"+name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}
