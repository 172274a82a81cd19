package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/internal/log/content"
)

// Save writes the body to a new file, or that of a directory to a new directory, at a
// path as the caller types it. What exists is never replaced. When Save returns
// nil everything is on stable storage.
//
// Kinds: Conflict (the path exists), NotFound (its directory, or a body without
// a record), Corrupt, Unavailable.
func (b Body) Save(ctx context.Context, name string) error {
	if err := b.notRecorded(); err != nil {
		return err
	}
	return content.Save(ctx, b.Content, b.w.c.Path(name))
}
