package refs

import (
	"context"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/nearest"
)

// WaitForLabel returns the first artifact that matches a query and gets its label
// after a position in the log.
func WaitForLabel(ctx context.Context, hub *handoff.Hub, q handoff.ArtifactQuery, after handoff.Seq) (handoff.Artifact,
	error) {
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

// UnusedChannel returns a warning if a channel is none of those in use, "" if it is.
func UnusedChannel(channel string, used []string) string {
	if slices.Contains(used, channel) {
		return ""
	}
	text := fmt.Sprintf("channel %q has never been used", channel)
	if near := nearest.Of(channel, used, 1); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return text
}
