package claims

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/evidence"
	"github.com/agent-handoff/handoff/trace"
)

// maxCommits is the number of commits whose artifacts are verified at once.
const maxCommits = 10_000

// VerifyAll verifies the artifacts that refs name, or those of the commits if there is one
// argument of the form BASE..HEAD or none, see VerifyCommits: all that the policy is about.
//
// Kinds: those of Verify and VerifyCommits.
func (c Checker) VerifyAll(ctx context.Context, args []string, p Policy) (all trace.VerificationList, err error) {
	if len(args) == 0 {
		return c.VerifyCommits(ctx, "..", p)
	}
	checker := c.once()
	for _, ref := range args {
		v, err := c.verify(ctx, checker, ref, p)
		if errors.Is(err, handoff.NotFound) && len(args) == 1 && isRange(ref) {
			return c.VerifyCommits(ctx, ref, p)
		}
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, v)
	}
	return all, nil
}

// once returns what checks several artifacts at one time: the tree of each worktree is read
// once.
func (c Checker) once() *evidence.Checker {
	type result struct {
		state *evidence.State
		err   error
	}
	known := map[string]result{}
	checker := c.checker()
	checker.Tree = func(ctx context.Context, worktree string) (*evidence.State, error) {
		r, ok := known[worktree]
		if !ok {
			r.state, r.err = c.tree(ctx, worktree)
			known[worktree] = r
		}
		return r.state, r.err
	}
	return checker
}

// isRange reports whether an argument is BASE..HEAD, and not a path such as ../report.md.
func isRange(arg string) bool {
	return strings.Contains(arg, "..") && !slices.Contains(strings.Split(arg, "/"), "..")
}

// VerifyCommits verifies the active artifacts with claims that are about commits, and those
// without if the policy requires approvals: those with the bytes of a file that one of them
// changes, and those that were claimed on one of them.
// The revisions are BASE..HEAD; an empty base is the default branch, an empty head the commit
// that is checked out. The result has no items if there are none. A file of more than 4 MiB
// is not compared.
//
// Kinds: Invalid (not in a repository, an unknown revision, more than 10,000 commits), and
// those of Verify.
func (c Checker) VerifyCommits(ctx context.Context, revisions string, p Policy) (all trace.VerificationList,
	err error) {
	all.Items = []trace.Verification{}
	if err := c.o.Hub.Closed(); err != nil {
		return all, err
	}
	r, commits, err := c.commits(ctx, revisions, &all)
	if err != nil {
		return all, err
	}
	about := aboutCommits{repository: r, prefix: filepath.ToSlash(c.top(r)), commits: map[string]bool{},
		blobs: map[string]map[string]bool{}, digests: map[string]string{}}
	about.add(commits, p.Approved)
	checker, approved := c.once(), map[string]bool{}
	q := handoff.ArtifactQuery{Claimed: !p.Approved, Limit: 200}
	for more := len(commits) > 0; more; more = q.Cursor != "" {
		page, err := c.o.Hub.Artifacts(ctx, q)
		if err != nil {
			return all, err
		}
		for _, a := range page.Artifacts {
			if len(a.Claims) == 0 && !p.Approved || !about.has(ctx, a) {
				continue
			}
			v, err := checked(ctx, checker, a, p)
			if err != nil {
				return all, err
			}
			all.Items = append(all.Items, v)
			if about.hasBytes(ctx, a) {
				file := path.Join(about.prefix, a.Path)
				approved[file] = approved[file] || v.Approved
			}
		}
		q.Cursor = page.Cursor
	}
	if p.Approved {
		all.Unapproved = slices.DeleteFunc(slices.Sorted(maps.Keys(about.blobs)),
			func(file string) bool { return approved[file] })
	}
	return all, ctx.Err()
}

// commits returns the repository of the caller and the commits of BASE..HEAD.
func (c Checker) commits(ctx context.Context, revisions string, all *trace.VerificationList) (r git.Repository,
	list []git.Commit, err error) {
	invalid := func(subject string, err error, advice string) error {
		return handoff.E("verify", subject, handoff.Invalid, err, handoff.Advice(advice))
	}
	if r, err = git.Open(ctx, c.o.Dir); err != nil {
		return r, nil, cmp.Or(ctx.Err(), invalid(c.o.Dir, err, "name the artifacts to verify"))
	}
	base, head, _ := strings.Cut(revisions, "..")
	if base == "" {
		if base, err = r.DefaultBranch(ctx); err != nil {
			return r, nil, cmp.Or(ctx.Err(), invalid("", errors.New("the default branch is not known"),
				"name the commits, as in v1.0..HEAD"))
		}
	}
	for _, end := range []struct {
		revision string
		id       *string
	}{{base, &all.Base}, {cmp.Or(head, "HEAD"), &all.Head}} {
		if *end.id, err = r.Resolve(ctx, end.revision); err != nil {
			return r, nil, cmp.Or(ctx.Err(), invalid(end.revision, err, "name a commit that this clone has; fetch its history"))
		}
	}
	if list, err = r.Between(ctx, all.Base, all.Head, maxCommits+1); err != nil {
		return r, nil, err
	}
	if len(list) > maxCommits {
		err = invalid(revisions, fmt.Errorf("more than %d commits", maxCommits), "name a later base")
	}
	return r, list, err
}

// top returns where the workspace is in the repository, "" for its root.
func (c Checker) top(r git.Repository) string {
	if in, err := filepath.Rel(r.Top, c.o.Workspace); err == nil && filepath.IsLocal(in) {
		return in
	}
	return "."
}

// aboutCommits tells which artifacts are about commits.
type aboutCommits struct {
	repository git.Repository
	prefix     string // of the workspace in the repository
	commits    map[string]bool
	blobs      map[string]map[string]bool // the blobs of each path
	digests    map[string]string          // SHA-256 of blobs, "" of one that can't be read
}

// add adds commits, newest first, with the blobs of all or of the newest one of each path only.
func (s aboutCommits) add(commits []git.Commit, newest bool) {
	seen := map[string]bool{}
	for _, commit := range commits {
		s.commits[commit.ID] = true
		for _, f := range commit.Files {
			known := newest && seen[f.Path]
			seen[f.Path] = true
			if known || f.New == "" {
				continue
			}
			if s.blobs[f.Path] == nil {
				s.blobs[f.Path] = map[string]bool{}
			}
			s.blobs[f.Path][f.New] = true
		}
	}
}

// digest returns the SHA-256 of a blob, "" if it can't be read.
func (s aboutCommits) digest(ctx context.Context, blob string) string {
	digest, ok := s.digests[blob]
	if !ok {
		if content, err := s.repository.Blob(ctx, blob); err == nil {
			sum := sha256.Sum256(content)
			digest = hex.EncodeToString(sum[:])
		}
		s.digests[blob] = digest
	}
	return digest
}

// has reports whether an artifact was claimed on one of the commits, or has the bytes that
// one of them gives to its path.
func (s aboutCommits) has(ctx context.Context, a handoff.Artifact) bool {
	return a.Tree != nil && s.commits[a.Tree.Commit] || s.hasBytes(ctx, a)
}

// hasBytes reports whether an artifact has the bytes that one of the commits gives to its path.
func (s aboutCommits) hasBytes(ctx context.Context, a handoff.Artifact) bool {
	if a.Root != "" || a.Digest.Algorithm != handoff.SHA256 {
		return false
	}
	for blob := range s.blobs[path.Join(s.prefix, a.Path)] {
		if s.digest(ctx, blob) == a.Digest.Value {
			return true
		}
	}
	return false
}
