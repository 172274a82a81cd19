package claims

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
// If the policy requires approvals, the files are those that differ between the trees of head and
// of its merge base with base, however the commits came about. Each is approved by an approved
// artifact with its path and bytes, if it is a regular file whose mode did not change, or by an
// approved patch that makes it of the merge base, with its mode. Only such a patch approves that a
// file is deleted. A link or a submodule is never approved.
//
// Kinds: Invalid (not in a repository, an unknown revision, more than 10,000 commits, a shallow
// clone if approvals are required), and those of Verify.
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
	about := &aboutCommits{repository: r, prefix: filepath.ToSlash(c.top(r)), commits: map[string]bool{},
		blobs: map[string]map[string]bool{}, digests: map[string]string{}, approved: map[string]bool{}}
	about.add(commits)
	if p.Approved {
		if err := about.compare(ctx, all.Base, all.Head); err != nil {
			return all, err
		}
	}
	checker := c.once()
	q := handoff.ArtifactQuery{Claimed: !p.Approved, Limit: 200}
	for more := len(commits) > 0; more; more = q.Cursor != "" {
		page, err := c.o.Hub.Artifacts(ctx, q)
		if err != nil {
			return all, err
		}
		for _, a := range page.Artifacts {
			if len(a.Claims) == 0 && !p.Approved {
				continue
			}
			if err := c.addAbout(ctx, &all, about, checker, a, p); err != nil {
				return all, err
			}
		}
		q.Cursor = page.Cursor
	}
	all.Unapproved = about.unapproved()
	return all, ctx.Err()
}

// addAbout adds the verification of an artifact, if it is about the commits.
func (c Checker) addAbout(ctx context.Context, all *trace.VerificationList, about *aboutCommits,
	checker *evidence.Checker, a handoff.Artifact, p Policy) error {
	isAbout, patch := about.has(ctx, a), p.Approved && isPatch(a)
	if !isAbout && !patch {
		return nil
	}
	v, err := checked(ctx, checker, a, p)
	if err != nil {
		return err
	}
	if v.Approved && p.Approved {
		about.approveFile(ctx, a)
		if patch {
			isAbout = about.approvePatch(ctx, c.o.Hub, a) || isAbout
		}
	}
	if isAbout {
		all.Items = append(all.Items, v)
	}
	return nil
}

// isPatch reports whether the name of an artifact is that of a patch.
func isPatch(a handoff.Artifact) bool {
	ext := path.Ext(a.Path)
	return !a.IsDirectory() && (ext == ".patch" || ext == ".diff")
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

// aboutCommits tells which artifacts are about commits, and which changes are approved.
type aboutCommits struct {
	repository git.Repository
	prefix     string // of the workspace in the repository
	commits    map[string]bool
	blobs      map[string]map[string]bool // the blobs of each path
	digests    map[string]string          // SHA-256 of blobs, "" of one that can't be read

	forks    []string         // the merge bases, if approvals are required
	changes  []git.Difference // what head changes of them
	approved map[string]bool  // the paths whose change is approved
}

// add adds commits with the blobs of their files.
func (s *aboutCommits) add(commits []git.Commit) {
	for _, commit := range commits {
		s.commits[commit.ID] = true
		for _, f := range commit.Files {
			s.addBlob(f.Path, f.New)
		}
	}
}

func (s *aboutCommits) addBlob(path, blob string) {
	if blob == "" {
		return
	}
	if s.blobs[path] == nil {
		s.blobs[path] = map[string]bool{}
	}
	s.blobs[path][blob] = true
}

// compare replaces the blobs by those of the regular files that head changes since its merge base.
// Kind: Invalid.
func (s *aboutCommits) compare(ctx context.Context, base, head string) (err error) {
	s.forks, s.changes, err = s.repository.SinceFork(ctx, base, head)
	switch {
	case errors.Is(err, git.ErrShallow):
		return handoff.E("verify", head, handoff.Invalid, err,
			handoff.Advice("fetch the complete history: git fetch --unshallow, in CI fetch-depth: 0"))
	case errors.Is(err, git.ErrNoCommit):
		return handoff.E("verify", head, handoff.Invalid, errors.New("it has no commit in common with "+base),
			handoff.Advice("name a base that it was made from"))
	}
	clear(s.blobs)
	for _, d := range s.changes {
		if mode := d.New.Mode; mode == "100644" || mode == d.Old.Mode && mode == "100755" {
			s.addBlob(d.Path, d.New.Object)
		}
	}
	return err
}

// approveFile approves the change of the file whose bytes an artifact has.
func (s *aboutCommits) approveFile(ctx context.Context, a handoff.Artifact) {
	if s.hasBytes(ctx, a) {
		s.approved[path.Join(s.prefix, a.Path)] = true
	}
}

// approvePatch approves the changes that a patch makes of the merge base, and reports whether
// there are any. A patch that can't be read or does not fit approves none.
func (s *aboutCommits) approvePatch(ctx context.Context, hub *handoff.Hub, a handoff.Artifact) bool {
	redacted := a.Redacted != nil && a.Redacted.Body != ""
	if len(s.forks) != 1 || a.Digest == (handoff.Digest{}) || redacted {
		return false
	}
	body, err := hub.Open(ctx, a.ID)
	if err != nil {
		return false
	}
	defer body.Close()
	patch, err := io.ReadAll(io.LimitReader(body, git.MaxApplied+1))
	if err != nil || len(patch) > git.MaxApplied {
		return false
	}
	list, err := s.repository.PatchedAt(ctx, s.forks[0], patch)
	if err != nil {
		return false
	}
	made := map[string]git.Entry{}
	for _, change := range list {
		made[change.Path] = change.Result()
	}
	any := false
	for _, d := range s.changes {
		if result, ok := made[d.Path]; ok && result == d.New {
			s.approved[d.Path], any = true, true
		}
	}
	return any
}

// unapproved returns the changed paths that nothing approves, sorted.
func (s *aboutCommits) unapproved() (list []string) {
	for _, d := range s.changes {
		if !s.approved[d.Path] {
			list = append(list, d.Path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// digest returns the SHA-256 of a blob, "" if it can't be read.
func (s *aboutCommits) digest(ctx context.Context, blob string) string {
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
func (s *aboutCommits) has(ctx context.Context, a handoff.Artifact) bool {
	return a.Tree != nil && s.commits[a.Tree.Commit] || s.hasBytes(ctx, a)
}

// hasBytes reports whether an artifact has the bytes that one of the commits gives to its path.
func (s *aboutCommits) hasBytes(ctx context.Context, a handoff.Artifact) bool {
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
