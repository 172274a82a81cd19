package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
)

// Limits of Tidy: it renders only manifests that a live writer would have
// rendered by now, and only some at a time.
const (
	renderAfter = 2 * time.Second
	renderMost  = 32
)

// A Follower renders the manifests of sessions after records, and closes those of killed
// processes. It is a core.Follower.
type Follower struct{ Sessions *Sessions }

// Recorded renders the manifest of a session. An ID under which no session was opened has none.
func (f Follower) Recorded(ctx context.Context, id string) []string {
	if id == "" {
		return nil
	}
	if err := f.Sessions.Changed(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		return []string{err.Error()}
	}
	return nil
}

// Tidy closes abandoned sessions on behalf of the caller, and renders manifests that are out of
// date.
func (f Follower) Tidy(ctx context.Context, c *core.Core) ([]string, error) {
	warnings, err := f.Sessions.As(c.Producer).CloseAbandoned(ctx, ThisObserver())
	return warnings, errors.Join(err, f.Render(ctx, c, renderAfter))
}

// Render renders manifests that have been out of date for the given time. One that can't be
// rendered is tried again later.
func (f Follower) Render(ctx context.Context, c *core.Core, age time.Duration) error {
	ids, err := c.Index.Manifests().Unrendered(ctx, age, renderMost)
	for _, id := range ids {
		_ = f.Sessions.Render(ctx, id)
	}
	return err
}
