package content

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
)

// pageSize is the number of artifacts that are read at a time.
const pageSize = 5000

// EachArtifact calls do for every artifact that q selects, newest first, until it
// returns an error.
func EachArtifact(ctx context.Context, from handoff.Reader, q handoff.ArtifactQuery,
	do func(handoff.Artifact) error) error {
	for q.Limit = pageSize; ; {
		page, err := from.Artifacts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Artifacts {
			if err := do(a); err != nil {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// StoreMissing stores the missing bodies of artifacts whose files are as published.
func StoreMissing(ctx context.Context, hub *handoff.Hub, bodies handoff.Bodies) error {
	return EachArtifact(ctx, hub, handoff.ArtifactQuery{IncludeInactive: true}, func(a handoff.Artifact) error {
		if !a.Kept || a.Redacted != nil || a.Dropped != nil ||
			a.Status == handoff.Withdrawn || a.Digest.Algorithm != handoff.SHA256 {
			return nil
		}
		if there, err := bodies.Has(ctx, a.Digest); err != nil || there {
			return nil // a check reports the error
		}
		b, err := hub.Open(ctx, a.ID)
		if err != nil {
			return nil // nothing has its bytes
		}
		_, err = bodies.Put(ctx, b)
		if err = errors.Join(err, b.Close()); errors.Is(err, handoff.Conflict) {
			return nil
		}
		return err
	})
}
