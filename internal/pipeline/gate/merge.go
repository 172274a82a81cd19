package gate

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A merge is what git knows about the branch and the commit of a git result.
type merge struct {
	branchName, commitName string
	branch, commit         string // the commit of each, "" if it does not exist
	onBranch               bool   // the branch contains the commit
	merged                 bool   // the base contains the commit

	// changed are the files that the commit and the ones before it change since
	// the base; if it is merged, those that the commit itself changes.
	changed []string

	// missing are the files of the scope that differ from the commit.
	missing []string
}

// LookUp adds to a scope what git knows about the branch and the commit of a git
// result, which Check compares. Its kinds are those of Changes.
func (r Repository) LookUp(ctx context.Context, s *Scope, artifact map[string]any) error {
	top, prefix, err := r.top(ctx)
	if err != nil {
		return err
	}
	m := merge{branchName: contract.Text(artifact["branch"]), commitName: contract.Text(artifact["commit_sha"])}
	for _, name := range []string{"refs/heads/", "refs/remotes/origin/", "refs/remotes/"} {
		if m.branch == "" && m.branchName != "" {
			commit, _ := r.Git(ctx, top, "show-ref", "--verify", "--hash", name+m.branchName)
			m.branch = strings.TrimSpace(string(commit))
		}
	}
	s.merge = &m
	// A name of hexadecimal digits can be that of a branch.
	commit, err := commitOf(ctx, r.Git, top, m.commitName)
	if err != nil || len(m.commitName) < 4 || !strings.HasPrefix(commit, strings.ToLower(m.commitName)) {
		return nil
	}
	m.commit = commit
	m.onBranch = m.branch != "" && r.contains(ctx, top, m.branch, commit)
	m.merged = s.Base != "" && r.contains(ctx, top, s.Base, commit)
	if m.changed, err = r.changedBy(ctx, top, prefix, s.Base, m); err != nil {
		return err
	}
	differ, err := r.list(ctx, top, prefix, diff(commit)...)
	if err != nil {
		return err
	}
	untracked, err := r.list(ctx, top, prefix, listings("")[0]...)
	if err != nil {
		return err
	}
	differ = append(differ, untracked...)
	for _, file := range s.Changed {
		if slices.Contains(differ, file) {
			m.missing = append(m.missing, file)
		}
	}
	return nil
}

// contains reports whether a commit is another one or comes after it.
func (r Repository) contains(ctx context.Context, dir, commit, earlier string) bool {
	b, err := r.Git(ctx, dir, "merge-base", commit, earlier)
	return err == nil && strings.TrimSpace(string(b)) == earlier
}

// changedBy returns the files that a commit changes since the base, or itself if
// it is merged.
func (r Repository) changedBy(ctx context.Context, top, prefix, base string, m merge) ([]string, error) {
	from := ""
	if m.merged || base == "" {
		from, _ = commitOf(ctx, r.Git, top, m.commit+"^1")
	} else if b, err := r.Git(ctx, top, "merge-base", base, m.commit); err == nil {
		from = strings.TrimSpace(string(b))
	}
	if from == "" {
		return r.list(ctx, top, prefix, "ls-tree", "-r", "-z", "--name-only", "--full-tree", m.commit)
	}
	return r.list(ctx, top, prefix, diff(from, m.commit)...)
}
