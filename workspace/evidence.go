package workspace

import (
	"cmp"
	"context"
	"io"
	"path"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/evidence"
	"github.com/agent-handoff/handoff/internal/git"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/thread"
)

// ParseEvidence parses evidence for a claim: command:LINE, thread:URI#M3 or
// artifact:REF. Kind: Invalid.
func ParseEvidence(text string) (handoff.Evidence, error) { return evidence.ParseEvidence(text) }

// A Verdict is the result of verifying a claim.
type Verdict = evidence.Verdict

// The verdicts.
const (
	Verified     = evidence.Verified     // an attested command succeeded, and the tree is the same since
	Stale        = evidence.Stale        // it succeeded on another tree
	Asserted     = evidence.Asserted     // nothing but the claim, or a result without a known tree
	Contradicted = evidence.Contradicted // the command failed, or the evidence was changed since
)

// A Verification has the verdicts of the claims of an artifact.
type Verification = evidence.Report

// Verify compares the claims of an artifact with what models did not write:
// attestations, and the results that agent programs recorded in the conversations of
// set. It runs no command but git, which reads, and records nothing.
//
// Kinds: those of Resolve.
func (w *Workspace) Verify(ctx context.Context, set *thread.Set, ref string) (Verification, error) {
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return Verification{}, err
	}
	a, err := w.hub.Artifact(ctx, id)
	if err != nil {
		return Verification{}, err
	}
	return w.checker(set).Check(ctx, a)
}

// Attest runs a command with run, in the caller's directory, and publishes its output
// with an attestation: how the command ended, and the tree that it ran on. run writes
// the output to its argument as it comes, whose errors it must ignore.
//
// Kinds: Invalid (the arguments, or the directory is outside the workspace), and those
// of Publish.
func (w *Workspace) Attest(ctx context.Context, argv []string, run func(output io.Writer) (Exit, error)) (handoff.Published, error) {
	dir, err := w.evidenceDir()
	if err != nil {
		return handoff.Published{}, err
	}
	done, err := w.checker(nil).Attest(ctx, evidence.Command{Argv: argv, Dir: dir, Worktree: w.dirs.Linked, Now: w.now,
		Run: func(output io.Writer) evidence.Ending {
			e, err := run(output)
			ending := evidence.Ending{Status: e.Code, Err: err}
			if s := cmp.Or(e.Signal, e.Asked); s != 0 {
				ending.Signal = s.String()
			}
			return ending
		}})
	if err == nil {
		done.Warnings = append(done.Warnings, w.finish(ctx, done.Producer.Session)...)
	}
	return done, err
}

// An InTotoStatement is an attestation in the format of in-toto.
type InTotoStatement = evidence.Statement

// InToto returns an attestation as an in-toto statement with a test result, unsigned.
//
// Kinds: those of Resolve, Invalid (not an attestation, or not of a git repository).
func (w *Workspace) InToto(ctx context.Context, ref string) (InTotoStatement, error) {
	id, err := w.Resolve(ctx, ref)
	if err != nil {
		return InTotoStatement{}, err
	}
	a, err := w.hub.Artifact(ctx, id)
	if err != nil {
		return InTotoStatement{}, err
	}
	return evidence.InToto(a, func(tree handoff.Tree) bool { return w.trees().IsClean(ctx, w.dirs.Root, tree) })
}

// verifyCommand reports whether a command is attested on the tree as it is now, and
// otherwise its verdict with the reason.
func (w *Workspace) verifyCommand(ctx context.Context, argv []string, dir string) (ok bool, reason string, err error) {
	if dir = path.Clean(dir); dir == "." {
		dir = ""
	}
	result, err := w.checker(nil).Require(ctx, argv, dir, w.dirs.Linked)
	return result.Verdict == Verified, string(result.Verdict) + ": " + result.Reason, err
}

func (w *Workspace) trees() evidence.Trees {
	return evidence.Trees{Git: git.Run, Own: append(w.ownFolders(), contract.Folder)}
}

// claim adds the claims of a publication to its draft.
func (w *Workspace) claim(ctx context.Context, d *handoff.Draft, p Publication) (warnings []string, err error) {
	if len(p.Claims) == 0 {
		return nil, nil
	}
	dir, err := w.evidenceDir()
	if err != nil {
		return nil, err
	}
	for _, c := range p.Claims {
		resolved := handoff.Claim{Text: c.Text}
		for _, e := range c.Evidence {
			if e.Kind == handoff.EvidenceCommand {
				e.Dir = dir
			}
			if e.Kind == handoff.EvidenceArtifact {
				if e.Artifact, err = w.Resolve(ctx, e.Artifact); err != nil {
					return nil, err
				}
			}
			resolved.Evidence = append(resolved.Evidence, e)
		}
		d.Claims = append(d.Claims, resolved)
	}
	if tree, err := w.tree(ctx, w.dirs.Linked); err == nil {
		d.Tree = &tree
	} else {
		warnings = append(warnings, "the tree is not recorded, so the claims can't be verified: "+err.Error())
	}
	more, err := w.checker(p.Threads).Record(ctx, d.Claims, d.Tree, w.caller.Producer.Thread)
	return append(warnings, more...), err
}

// evidenceDir returns the caller's directory, relative to the workspace.
func (w *Workspace) evidenceDir() (string, error) {
	dir, err := filepath.EvalSymlinks(w.caller.Dir)
	rel := below(w.dirs.Root, dir)
	switch {
	case err != nil || rel == "":
		return "", invalid("evidence", w.caller.Dir, "directory is outside the workspace", "run it inside "+w.dirs.Root)
	case rel == ".":
		return "", nil
	}
	return rel, nil
}

func (w *Workspace) checker(set *thread.Set) *evidence.Checker {
	return &evidence.Checker{Hub: w.as, Calls: evidence.Calls{Threads: set, InRepository: w.InRepository}, Tree: w.tree}
}

// tree returns the tree of a linked worktree, or of the caller's if that is gone.
func (w *Workspace) tree(ctx context.Context, worktree string) (handoff.Tree, error) {
	dir := w.dirs.Worktree(worktree)
	if dir == "" {
		worktree, dir = w.dirs.Linked, w.dirs.Root
	}
	tree, err := w.trees().At(ctx, dir)
	tree.Worktree = worktree
	return tree, err
}
