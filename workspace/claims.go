package workspace

import (
	"cmp"
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/claims"
)

// Claims returns the operations on the claims of artifacts. Commands are looked up in
// the threads of a set, which may be nil.
func (w *Workspace) Claims(set *thread.Set) claims.Checker {
	return claims.New(claims.Options{
		Hub: w.c.Hub, Bodies: w.c.Bodies, Producer: w.c.Producer, Threads: set,
		InRepository: w.Threads(set).InRepository,
		Workspace:    w.c.Dirs.Root, Dir: w.c.Dir, Worktree: w.c.Dirs.Linked, WorktreeDir: w.c.Dirs.Worktree,
		Publish: func(ctx context.Context, d handoff.Draft) (handoff.Published, error) {
			return w.publish(ctx, set, d)
		},
		Lines: func(ctx context.Context, revisions []string) ([]trace.CommitLines, []string, error) {
			if err := w.c.Anonymous.Closed(); err != nil {
				return nil, nil, err
			}
			sources, err := w.sources(cmp.Or(set, &thread.Set{}))
			if err != nil {
				return nil, nil, err
			}
			return sources.Lines(ctx, w.c.Dir, w.c.Dirs.Worktrees(), revisions)
		},
		Own: w.ownFolders, Resolve: w.Resolve, Finish: w.c.Finish, Now: w.c.Now,
	})
}
