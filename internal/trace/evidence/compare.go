package evidence

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/trace"
)

// A claimed is the tree that a claim is about. The artifact that has the claim is left
// out of it: a report is usually written after the command that it states.
type claimed struct {
	tree *handoff.Tree // nil if it was not recorded
	path string        // of the artifact in the workspace, "" if nothing is left out
	now  func(ctx context.Context) (*State, error)
}

// is reports whether an attestation is of the tree.
func (on claimed) is(a handoff.Artifact) bool { return fold.SameTree(&a.ArtifactPublished, on.tree) }

// maxCompared is how many attestations of a command are compared file by file.
const maxCompared = 20

// isWithout reports whether an attestation is of the tree together with the artifact,
// as it was then.
func (c *Checker) isWithout(ctx context.Context, a handoff.Artifact, on claimed) bool {
	if on.path == "" || on.tree == nil || a.Tree == nil || a.Attestation.OfCommit {
		return false
	}
	now, files, err := c.filesOf(ctx, a, on)
	if err != nil {
		return false
	}
	left := without(files, now.inRepository(on.path))
	return len(left) < len(files) && left.digest() == on.tree.Digest
}

// filesOf returns the files of an attested tree, and the state that they are compared
// with.
func (c *Checker) filesOf(ctx context.Context, a handoff.Artifact, on claimed) (now *State, files Files, err error) {
	if now, err = on.now(ctx); err == nil {
		files, err = now.filesOf(ctx, c.Bodies, *a.Tree, a.Attestation.OfCommit)
	}
	return now, files, err
}

// maxNamed is how many files a result names that differ from those that were attested.
const maxNamed = 10

// differing returns the files that are not as they were attested, and how many there
// are in addition. It returns none if the files are not known.
func (c *Checker) differing(ctx context.Context, a handoff.Artifact, on claimed) (names []string, more int) {
	if a.Tree == nil || on.tree == nil {
		return nil, 0
	}
	now, files, err := c.filesOf(ctx, a, on)
	if err != nil {
		return nil, 0
	}
	current := now.files
	if a.Attestation.OfCommit {
		current = now.tracked()
	}
	if on.path != "" {
		own := now.inRepository(on.path)
		files, current = without(files, own), without(current, own)
	}
	return named(compare(files, current))
}

// named returns the first differences, and how many follow.
func named(list []change) (names []string, more int) {
	for _, c := range list[:min(len(list), maxNamed)] {
		names = append(names, c.String())
	}
	return names, len(list) - len(names)
}

// stale adds to a result which files differ.
func (c *Checker) stale(ctx context.Context, r trace.CommandResult, a handoff.Artifact,
	on claimed) trace.CommandResult {
	if r.Files, r.MoreFiles = c.differing(ctx, a, on); len(r.Files) > 0 {
		r.Reason += ": " + sentence(r.Files, r.MoreFiles)
	}
	return r
}

// sentence returns differences as a part of a sentence.
func sentence(names []string, more int) string {
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// untracked returns how many untracked files were present, as a part of a sentence.
func untracked(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", with 1 untracked file present"
	}
	return fmt.Sprintf(", with %d untracked files present", n)
}
