package workspace

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
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
	return content.Save(ctx, b.Content, b.w.path(name))
}

// Restore writes the body back to the path that it was published from, where
// nothing is now, and returns that path as recorded. Otherwise it is Save;
// its kind is Unavailable, too, if that path is not inside this worktree.
func (b Body) Restore(ctx context.Context) (string, error) {
	a := b.Artifact
	if err := b.w.hub.Closed(); err != nil {
		return "", err
	}
	if err := b.notRecorded(); err != nil {
		return "", err
	}
	if a.Root == handoff.SessionRoot || a.Root == "" && a.Worktree != b.w.dirs.Linked {
		return "", handoff.E("write", a.Path, handoff.Unavailable, errors.New("its path is not inside this workspace"),
			content.SaveElsewhere(a))
	}
	root := b.w.files
	if a.Root == handoff.RuntimeRoot {
		r, err := b.w.runtime()
		if err != nil {
			return "", err
		}
		defer r.Close()
		root = r
	}
	return a.Path, content.Restore(ctx, b.Content, root)
}
