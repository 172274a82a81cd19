package handoff

import (
	"context"
	"io"
)

// Files gives access to the files that artifacts point at: the files of a
// workspace on this machine. Package internal/content implements it.
type Files interface {
	// Name returns the directory of the workspace.
	Name() string

	// Describe sets the fields of p that describe the file or directory at
	// p.Path, and keeps a copy in to as the draft or the workspace requires. If
	// to is nil, it computes the digest but keeps nothing.
	// Kinds: Invalid, NotFound, Conflict (the file changes while it is read),
	// Unavailable, and those of Bodies.Put.
	Describe(ctx context.Context, d Draft, p *ArtifactPublished, to Bodies) error

	// Store writes the draft's Body to a new file under the artifact's ID and
	// describes it in p. discard removes the file again.
	Store(ctx context.Context, id string, d Draft, p *ArtifactPublished, to Bodies) (discard func(), err error)

	// Stat returns the target state of an artifact without reading its file. If
	// the state is Unknown, fingerprint identifies the content of the file as
	// long as the file is not written, or is "".
	Stat(ctx context.Context, a Artifact) (t Target, fingerprint string)

	// Open reads an artifact's file to determine its target state. It returns
	// the file if it is Available or if its state can't be determined, and nil
	// otherwise. Reading f fails with kind Conflict once the file changes.
	Open(ctx context.Context, a Artifact) (t Target, fingerprint string, f io.ReadSeekCloser)
}
