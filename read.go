package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Locate sets Target and File of artifacts without reading their files. A state
// that can't be determined so is taken from the index if it stores one.
func (h *Hub) Locate(ctx context.Context, list []Artifact) {
	if h.o.Files == nil {
		return
	}
	fingerprints := map[string]string{}
	for i, s := range h.o.Files.Stat(ctx, list) {
		if list[i].Target, list[i].File = s.Target, s.Path; s.Fingerprint != "" {
			fingerprints[list[i].ID] = s.Fingerprint
		}
	}
	cache, ok := h.index.(TargetCache)
	if !ok || len(fingerprints) == 0 {
		return
	}
	known, _ := cache.Targets(ctx, fingerprints) // derived: without them, states are Unknown
	for i, a := range list {
		if t, ok := known[a.ID]; ok {
			list[i].Target = t
		}
	}
}

// verify reads an artifact's file to set its target state.
func (h *Hub) verify(ctx context.Context, a Artifact) (Artifact, io.ReadSeekCloser) {
	if h.o.Files == nil {
		return a, nil
	}
	s, f := h.o.Files.Open(ctx, a)
	return h.withState(ctx, a, s), f
}

// withState sets Target and File, and stores a state that reading gave.
func (h *Hub) withState(ctx context.Context, a Artifact, s FileState) Artifact {
	if cache, ok := h.index.(TargetCache); ok && s.Fingerprint != "" && s.Target != Unknown {
		// Derived: errors are ignored. A known state is not stored again, because
		// a write costs more than the rest of this function.
		known, err := cache.Targets(ctx, map[string]string{a.ID: s.Fingerprint})
		if err == nil && known[a.ID] != s.Target {
			_ = cache.PutTarget(ctx, a.ID, s.Fingerprint, s.Target)
		}
	}
	a.Target, a.File = s.Target, s.Path
	return a
}

// A Content is what an artifact published, open for reading: the bytes of a
// file, or a directory as one tar. It must be closed.
type Content struct {
	io.ReadSeekCloser
	Artifact Artifact // its Target is the state of the published file
	Kept     bool     // the bytes are those of the kept copy
}

// Open opens what an artifact published: its file if that is unchanged,
// otherwise the kept copy. If the record has no digest, it opens the file as it
// is now, and Target is Unknown.
//
// Kinds: NotFound, Unavailable (the file has changed or is missing, and no copy
// was kept), Corrupt (the kept copy is damaged or missing), Unsupported (the Hub
// has no Files).
func (h *Hub) Open(ctx context.Context, id string) (Content, error) {
	if err := h.catchUp(ctx); err != nil {
		return Content{}, err
	}
	a, err := h.index.Artifact(ctx, id)
	if err != nil {
		return Content{}, err
	}
	if h.o.Files == nil {
		return Content{}, E("read", id, Unsupported, errors.New("no access to workspace files"))
	}
	if a.Redacted != nil && a.Redacted.Body != "" {
		return h.openRedacted(ctx, h.withRecordPath(a))
	}
	a, f := h.verify(ctx, h.withRecordPath(a))
	if f != nil {
		return Content{f, a, false}, nil
	}
	if !a.Kept || h.bodies == nil {
		reason := fmt.Errorf("%s is %s, and no copy was kept", a.Path, a.Target)
		return Content{}, E("read", id, Unavailable, reason, Suggest("see its path and producer", ActionShow, id))
	}
	kept, err := h.openKept(ctx, a)
	if errors.Is(err, NotFound) {
		err = missingCopy(a)
	}
	return Content{kept, a, true}, err
}

// openRedacted opens what replaces the body of an artifact that had a secret.
func (h *Hub) openRedacted(ctx context.Context, a Artifact) (Content, error) {
	if a.Redacted.Body == BodyErased || h.bodies == nil {
		return Content{}, E("read", a.ID, Unavailable, errors.New("its content was erased, because it had a secret"),
			Suggest("see its path and producer", ActionShow, a.ID))
	}
	kept, err := h.fetch(ctx, a.Redacted.Digest, fetchLimit)
	if errors.Is(err, NotFound) {
		err = missingCopy(a)
	}
	h.Locate(ctx, []Artifact{a})
	return Content{kept, a, true}, err
}

// fetchLimit is the size up to which a body is fetched whose size its record
// does not state: a directory.
const fetchLimit = 1 << 30

// openKept opens the kept copy of an artifact. One on another machine is fetched.
func (h *Hub) openKept(ctx context.Context, a Artifact) (io.ReadSeekCloser, error) {
	limit := int64(fetchLimit)
	if a.SizeBytes != nil {
		limit = *a.SizeBytes
	}
	return h.fetch(ctx, Digest{SHA256, a.Digest.Value}, limit)
}

func (h *Hub) fetch(ctx context.Context, d Digest, limit int64) (io.ReadSeekCloser, error) {
	if f, ok := h.bodies.(BodyFetcher); ok {
		if err := f.Fetch(ctx, d, limit); err != nil {
			return nil, err
		}
	}
	return h.bodies.Open(ctx, d)
}

// missingCopy returns the error for a kept copy that is not stored. The copy of
// a withdrawn artifact may have been collected; any other is lost.
func missingCopy(a Artifact) error {
	e := E("read", a.ID, Corrupt, errors.New("its kept copy is missing"),
		Suggest("find other missing data", ActionCheck))
	if a.Dropped != nil {
		e.Err = errors.New(a.Dropped.Notice())
	}
	if a.Dropped != nil || a.Status == Withdrawn {
		e.Kind, e.Hint = Unavailable, Suggest("see its path and producer", ActionShow, a.ID)
	}
	return e
}
