package handoff

import (
	"context"
	"io"
)

// Files gives access to the files that artifacts point at: the files of a
// workspace on this machine. Package internal/log/content implements it.
type Files interface {
	// Name returns the directory of the workspace.
	Name() string

	// Describe sets the fields of p that describe the file or directory at
	// p.Path, and keeps a copy in to as the draft or the workspace requires. If
	// to is nil, it computes the digest but keeps nothing.
	// Kinds: Invalid, NotFound, Conflict (the file changes while it is read),
	// Unavailable, and those of Bodies.Put.
	Describe(ctx context.Context, d Draft, p *ArtifactPublished, to Bodies) (FileState, error)

	// Store writes the draft's Body to a new file under the artifact's ID and
	// describes it in p. discard removes the file again. The file of a name is
	// written by its renderer; its state is the zero value.
	Store(ctx context.Context, id string, d Draft, p *ArtifactPublished, to Bodies) (s FileState, discard func(),
		err error)

	// Stat returns the states of the files of artifacts without reading them.
	Stat(ctx context.Context, list []Artifact) []FileState

	// Open reads an artifact's file to determine its state. It returns the file
	// if it is Available or if its state can't be determined, and nil
	// otherwise. Reading f fails with kind Conflict once the file changes.
	Open(ctx context.Context, a Artifact) (s FileState, f io.ReadSeekCloser)
}

// A FileState is what is known of the file that an artifact points at.
type FileState struct {
	Path   string // absolute; "" if the file can't be reached from this machine
	Target Target

	// Fingerprint identifies the content of the file as long as the file is not
	// written, if reading it is the only way to determine Target, or is "".
	Fingerprint string

	// NotKept is why no copy was kept of a body, "" if one was kept or the draft asked
	// for none.
	NotKept string
}
