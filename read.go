package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// statAll says what became of artifacts' files, without reading them, as far as
// that shows or verdicts on files that looked the same are remembered.
func (h *Hub) statAll(ctx context.Context, list []Artifact) {
	if h.o.Files == nil {
		return
	}
	fingerprints := map[string]string{}
	for i, a := range list {
		t, fingerprint := h.o.Files.Stat(ctx, a)
		if list[i].Target = t; fingerprint != "" {
			fingerprints[a.ID] = fingerprint
		}
	}
	v, ok := h.index.(TargetCache)
	if !ok || len(fingerprints) == 0 {
		return
	}
	known, _ := v.Targets(ctx, fingerprints) // derived: what is forgotten is unknown
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
	if v, ok := h.index.(TargetCache); ok && fingerprint != "" {
		// Derived: what can't be remembered is found out again. What is known is
		// not written anew, for a write costs more than all the rest of a look.
		known, err := v.Targets(ctx, map[string]string{a.ID: fingerprint})
		if err == nil && known[a.ID] != t {
			_ = v.PutTarget(ctx, a.ID, fingerprint, t)
		}
	}
	a.Target = t
	return a, f
}

// A Content is what an artifact published, open for reading: the bytes of a file,
// or a directory as one tar.
type Content struct {
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
func (h *Hub) Open(ctx context.Context, id string) (Content, error) {
	if err := h.catchUp(ctx); err != nil {
		return Content{}, err
	}
	a, err := h.index.Artifact(ctx, id)
	if err != nil {
		return Content{}, err
	}
	if h.o.Files == nil {
		return Content{}, &Error{Op: "read", Name: id, Kind: Unsupported, Err: errors.New("there are no files here")}
	}
	a, f := h.verify(ctx, h.place(a))
	if f != nil {
		return Content{f, a, false}, nil
	}
	gone := &Error{Op: "read", Name: id, Kind: Unavailable, Hint: Advice("handoff show " + id + " tells where it lay and who made it")}
	if !a.Kept || h.bodies == nil {
		gone.Err = fmt.Errorf("%s is %s, and no copy was kept", a.Path, a.Target)
		if a.Digest == (Digest{}) && a.SizeBytes == nil && a.Target == Unknown {
			gone.Err = fmt.Errorf("%s is a directory, and no copy was kept", a.Path)
		}
		return Content{}, gone
	}
	kept, err := h.bodies.Open(ctx, Digest{SHA256, a.Digest.Value})
	if errors.Is(err, NotFound) {
		gone.Err = errors.New("its kept copy is missing")
		if a.Status != Withdrawn { // else it was collected
			gone.Kind, gone.Hint = Corrupt, Advice("handoff check tells what else is missing")
		}
		err = gone
	}
	return Content{kept, a, true}, err
}
