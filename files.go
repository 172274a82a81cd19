package handoff

import (
	"context"
	"io"
)

// Files are what artifacts point at: the files of a workspace on this machine.
// Package body has them.
type Files interface {
	// Name returns the workspace's directory.
	Name() string

	// Describe fills in what p says about the file or directory at p.Path,
	// and keeps it where the draft, or the workspace, says so. Where to is nil
	// it gets the digest only, with which it would be kept.
	// Kinds: Invalid, NotFound, Conflict (it keeps changing), Unavailable, and
	// those of Bodies.Put.
	Describe(ctx context.Context, d Draft, p *ArtifactPublished, to Bodies) error

	// Store writes the draft's body, which has no file yet, to a place of its
	// own under the artifact's id, and describes it; discard takes it away.
	Store(ctx context.Context, id string, d Draft, p *ArtifactPublished, to Bodies) (discard func(), err error)

	// Stat says what became of an artifact's file without reading it. Where
	// that doesn't tell it is Unknown; then the fingerprint, if there is one,
	// is the same as long as the file is.
	Stat(ctx context.Context, a Artifact) (t Target, fingerprint string)

	// Open reads an artifact's file, says what became of it, and returns the
	// file where it is as published, or where nothing tells. Reading fails
	// with kind Conflict once the file changes.
	Open(ctx context.Context, a Artifact) (t Target, fingerprint string, f io.ReadSeekCloser)
}
