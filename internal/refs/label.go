package refs

import (
	"context"

	"github.com/agent-handoff/handoff"
)

// WaitForLabel returns the first artifact that matches a query and gets its label
// after a position in the log.
func WaitForLabel(ctx context.Context, hub *handoff.Hub, q handoff.ArtifactQuery, after handoff.Seq) (handoff.Artifact, error) {
	for r, err := range hub.Watch(ctx, after) {
		if err != nil {
			return handoff.Artifact{}, err
		}
		f, ok := r.Fact.(*handoff.ArtifactLabeled)
		if !ok || f.Removed || f.Label != q.Label {
			continue
		}
		q.IDPrefix = f.ArtifactID
		page, err := hub.Artifacts(ctx, q)
		if err != nil || len(page.Artifacts) > 0 {
			return append(page.Artifacts, handoff.Artifact{})[0], err
		}
	}
	return handoff.Artifact{}, ctx.Err()
}
