// Package claims has the operations on the claims of artifacts and their evidence,
// which Workspace.Claims of package workspace returns.
package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/evidence"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// Options are what claims use of a workspace, on behalf of one caller.
type Options struct {
	Hub      *handoff.Hub   // whose records name the caller
	Bodies   handoff.Bodies // where lists of files are kept
	Producer handoff.Producer
	// the threads in which commands are looked up, nil for none
	Threads *thread.Set
	// reports whether a thread in a directory belongs to this repository
	InRepository func(dir string) bool
	Workspace    string // the directory of the workspace
	Dir          string // the directory of the caller, absolute
	// the linked worktree that the workspace is, "" for the main one
	Worktree    string
	WorktreeDir func(worktree string) string // its directory, "" if it is gone
	// the folders that handoff writes to, relative to Workspace
	Own     func() []string
	Resolve func(ctx context.Context, ref string) (string, error) // the ID of an artifact
	// the lines that commits add and whose writer is exact
	Lines   func(ctx context.Context, revisions []string) ([]trace.CommitLines, []string, error)
	Publish func(ctx context.Context, d handoff.Draft) (handoff.Published, error)
	Finish  func(ctx context.Context, session string) []string // what follows a record; returns warnings
	Now     func() time.Time
}

// A Checker records claims and attestations, and compares them with what models did
// not write, for the caller of a workspace.
type Checker struct{ o Options }

// New returns the Checker that o describes. Workspace.Claims of package workspace calls
// it.
func New(o Options) Checker { return Checker{o} }

// ParseEvidence parses evidence for a claim: command:LINE, thread:URI#M3 or
// artifact:REF. Kind: Invalid.
func ParseEvidence(text string) (handoff.Evidence, error) { return evidence.ParseEvidence(text) }

// Publish is Workspace.Publish for an artifact with claims, whose commands are looked up in
// the threads. The evidence of the claims is as ParseEvidence returns it; an artifact in it
// may be any ref.
func (c Checker) Publish(ctx context.Context, d handoff.Draft) (handoff.Published, error) {
	return c.o.Publish(ctx, d)
}

// Verify compares the claims of an artifact with what models did not write:
// attestations, and the results that agent programs recorded in threads. It runs
// no command but git, which reads, and records nothing.
//
// Kinds: those of Resolve.
func (c Checker) Verify(ctx context.Context, ref string) (trace.Verification, error) {
	return c.verify(ctx, c.checker(), ref, Policy{})
}

func (c Checker) verify(ctx context.Context, with *evidence.Checker, ref string, p Policy) (trace.Verification, error) {
	id, err := c.o.Resolve(ctx, ref)
	if err != nil {
		return trace.Verification{}, err
	}
	a, err := c.o.Hub.Artifact(ctx, id)
	if err != nil {
		return trace.Verification{}, err
	}
	v, err := checked(ctx, with, a, p)
	ofFile := path.Base(filepath.ToSlash(ref)) == path.Base(a.Path)
	if ofFile && p.Approved && a.Target != handoff.Available {
		v.Approved = false
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s was %s at this check: approved are the bytes that were published",
			a.Path, a.Target))
	}
	return v, err
}

// checked returns the verification of an artifact with its reviews.
func checked(ctx context.Context, with *evidence.Checker, a handoff.Artifact, p Policy) (trace.Verification, error) {
	if err := p.Authenticate(ctx, &a); err != nil {
		return trace.Verification{}, err
	}
	v, err := with.Check(ctx, a)
	v.Approved, v.Reviews = a.IsApproved(), a.Reviews
	return v, err
}

// Attest runs a command with run, in the caller's directory, and publishes its output
// with an attestation: how the command ended, and the tree that it ran on. run writes
// the output to its argument as it comes, whose errors it must ignore. With ofCommit the
// tree is that of the commit, so that a claim with this attestation can be verified
// wherever the commit is checked out.
//
// Kinds: Invalid (the arguments, the directory is outside the workspace, or, with
// ofCommit, a tracked file differs from the commit), and those of Publish.
func (c Checker) Attest(ctx context.Context, argv []string, ofCommit bool,
	run func(output io.Writer) (session.Exit, error)) (handoff.Published, error) {
	dir, err := c.dir()
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := c.checker().Attest(ctx, evidence.Command{Argv: argv, Dir: dir, Worktree: c.o.Worktree, OfCommit: ofCommit,
		Now: c.o.Now, Run: func(output io.Writer) evidence.Ending {
			e, err := run(output)
			ending := evidence.Ending{Status: e.Code, Err: err}
			if s := cmp.Or(e.Signal, e.Asked); s != 0 {
				ending.Signal = s.String()
			}
			return ending
		}})
	if err == nil {
		done.Warnings = append(done.Warnings, c.o.Finish(ctx, done.Producer.Session)...)
	}
	return done, err
}

// Attested returns the verdict on a command on the tree as it is now, with the reason.
func (c Checker) Attested(ctx context.Context, argv []string, dir string) (v handoff.Verdict, reason string,
	err error) {
	if err := c.o.Hub.Closed(); err != nil {
		return "", "", err
	}
	if dir = path.Clean(dir); dir == "." {
		dir = ""
	}
	result, err := c.checker().Require(ctx, argv, dir, c.o.Worktree)
	return result.Verdict, result.Reason, err
}

func (c Checker) trees() evidence.Trees {
	return evidence.Trees{Git: git.Run, Own: append(c.o.Own(), contract.Folder), Now: c.o.Now}
}

// Record adds claims to a draft that is about to be published, with their evidence as
// ParseEvidence returns it; an artifact may be any ref.
//
// Kinds: those of Resolve, Invalid (the directory is outside the workspace), and
// NotFound (a thread or message).
func (c Checker) Record(ctx context.Context, d *handoff.Draft, claims []handoff.Claim) (warnings []string, err error) {
	if len(claims) == 0 {
		return nil, c.o.Hub.Closed()
	}
	dir, err := c.dir()
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		resolved := handoff.Claim{Text: claim.Text}
		for _, e := range claim.Evidence {
			if e.Kind == handoff.EvidenceCommand {
				e.Dir = dir
			}
			if e.Kind == handoff.EvidenceArtifact {
				if e.Artifact, err = c.o.Resolve(ctx, e.Artifact); err != nil {
					return nil, err
				}
			}
			resolved.Evidence = append(resolved.Evidence, e)
		}
		d.Claims = append(d.Claims, resolved)
	}
	own := ""
	if d.Root == "" {
		own = d.Path
	}
	now, err := c.tree(ctx, c.o.Worktree)
	if err == nil {
		whole := now.Digest
		now = now.Without(ctx, own)
		if d.Tree = &now.Tree; whole != now.Digest {
			d.Tree.Whole = whole
		}
	} else {
		warnings = append(warnings, "the tree is not recorded, so the claims can't be verified: "+err.Error())
	}
	more, err := c.checker().Record(ctx, d.Claims, now, own, c.o.Producer.Thread)
	return append(warnings, more...), err
}

// dir returns the caller's directory, relative to the workspace.
func (c Checker) dir() (string, error) {
	dir, err := filepath.EvalSymlinks(c.o.Dir)
	rel, outside := filepath.Rel(c.o.Workspace, dir)
	switch {
	case err != nil || outside != nil || !filepath.IsLocal(rel):
		return "", handoff.E("evidence", c.o.Dir, handoff.Invalid, errors.New("directory is outside the workspace"),
			handoff.Advice("run it inside "+c.o.Workspace))
	case rel == ".":
		return "", nil
	}
	return filepath.ToSlash(rel), nil
}

func (c Checker) checker() *evidence.Checker {
	return &evidence.Checker{Hub: c.o.Hub, Bodies: c.o.Bodies,
		Calls: evidence.Calls{Threads: c.o.Threads, InRepository: c.o.InRepository},
		Tree:  c.tree}
}

// tree returns the state of a linked worktree, or of the caller's if that is gone.
func (c Checker) tree(ctx context.Context, worktree string) (*evidence.State, error) {
	dir := c.o.WorktreeDir(worktree)
	if dir == "" {
		worktree, dir = c.o.Worktree, c.o.Workspace
	}
	state, err := c.trees().At(ctx, dir)
	if err == nil {
		state.Worktree = worktree
	}
	return state, err
}
