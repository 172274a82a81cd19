package handoff

import (
	"context"
	"errors"
	"fmt"
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

	// Look says what became of an artifact's file without reading it. Where
	// that doesn't tell it is Unknown; then the fingerprint, if there is one,
	// is the same as long as the file is.
	Look(ctx context.Context, a Artifact) (t Target, fingerprint string)

	// Open reads an artifact's file, says what became of it, and returns the
	// file where it is as published, or where nothing tells. Reading fails
	// with kind Conflict once the file changes.
	Open(ctx context.Context, a Artifact) (t Target, fingerprint string, f io.ReadSeekCloser)
}

// A Keep says which bodies are kept.
type Keep string

const (
	KeepAuto   Keep = "auto"   // files of at most KeepLimit bytes
	KeepAlways Keep = "always" // every file and, where a Draft says so, the directory
	KeepNever  Keep = "never"
)

// Check returns an error of kind Invalid unless k is one of those, or "".
func (k Keep) Check() error {
	switch k {
	case "", KeepAuto, KeepAlways, KeepNever:
		return nil
	}
	return &Error{Op: "keep", Name: fmt.Sprintf("%q", string(k)), Kind: Invalid, Err: errors.New("is not auto, always or never"),
		Hint: Advice("auto keeps files of up to 1 MiB, always keeps any, never none")}
}

// KeepLimit is the size up to which KeepAuto keeps a file.
const KeepLimit = 1 << 20

// look says what became of artifacts' files, without reading them, as far as
// that shows or verdicts on files that looked the same are remembered.
func (h *Hub) look(ctx context.Context, list []Artifact) {
	if h.o.Files == nil {
		return
	}
	fingerprints := map[string]string{}
	for i, a := range list {
		t, fingerprint := h.o.Files.Look(ctx, a)
		if list[i].Target = t; fingerprint != "" {
			fingerprints[a.ID] = fingerprint
		}
	}
	v, ok := h.index.(Verdicts)
	if !ok || len(fingerprints) == 0 {
		return
	}
	known, _ := v.Verdicts(ctx, fingerprints) // derived: what is forgotten is unknown
	for i, a := range list {
		if t, ok := known[a.ID]; ok {
			list[i].Target = t
		}
	}
}

// verify reads an artifact's file to say what became of it.
func (h *Hub) verify(ctx context.Context, a Artifact) (Artifact, io.ReadSeekCloser) {
	if h.o.Files == nil {
		return a, nil
	}
	t, fingerprint, f := h.o.Files.Open(ctx, a)
	if v, ok := h.index.(Verdicts); ok && fingerprint != "" {
		// Derived: what can't be remembered is found out again. What is known is
		// not written anew, for a write costs more than all the rest of a look.
		known, err := v.Verdicts(ctx, map[string]string{a.ID: fingerprint})
		if err == nil && known[a.ID] != t {
			_ = v.PutVerdict(ctx, a.ID, fingerprint, t)
		}
	}
	a.Target = t
	return a, f
}

// A Body is what an artifact published, open for reading: the bytes of a file,
// or a directory as one tar.
type Body struct {
	io.ReadSeekCloser
	Artifact Artifact // Target tells what became of the published file
	Kept     bool     // the bytes are the kept copy's
}

// Open opens what an artifact published: its file where that is unchanged,
// else the kept copy. Where the record has no digest, the file as it is now is
// opened, and Target is Unknown.
//
// Kinds: NotFound, Unavailable (what was published is gone), Corrupt,
// Unsupported.
func (h *Hub) Open(ctx context.Context, id string) (Body, error) {
	if err := h.catchUp(ctx); err != nil {
		return Body{}, err
	}
	a, err := h.index.Artifact(ctx, id)
	if err != nil {
		return Body{}, err
	}
	if h.o.Files == nil {
		return Body{}, &Error{Op: "read", Name: id, Kind: Unsupported, Err: errors.New("there are no files here")}
	}
	a, f := h.verify(ctx, h.place(a))
	if f != nil {
		return Body{f, a, false}, nil
	}
	gone := &Error{Op: "read", Name: id, Kind: Unavailable, Hint: Advice("handoff show " + id + " tells where it lay and who made it")}
	if !a.Kept || h.bodies == nil {
		gone.Err = fmt.Errorf("%s is %s, and no copy was kept", a.Path, a.Target)
		if a.Digest == (Digest{}) && a.SizeBytes == nil && a.Target == Unknown {
			gone.Err = fmt.Errorf("%s is a directory, and no copy was kept", a.Path)
		}
		return Body{}, gone
	}
	kept, err := h.bodies.Open(ctx, Digest{SHA256, a.Digest.Value})
	if errors.Is(err, NotFound) {
		gone.Err = errors.New("its kept copy is missing")
		if a.Status != Withdrawn { // else it was collected
			gone.Kind, gone.Hint = Corrupt, Advice("handoff check tells what else is missing")
		}
		err = gone
	}
	return Body{kept, a, true}, err
}
