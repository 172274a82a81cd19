package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/internal/parts"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// Threads returns the threads that the agent programs of a set keep on
// this machine.
func (w *Workspace) Threads(set *thread.Set) threads.Collection {
	return threads.New(parts.Threads{
		Comment: w.Reviews().TextOf,
		Hub:     w.c.Anonymous, Producer: w.c.Producer, Threads: observed(w, set), Observer: observer(w),
		Dirs: w.c.Dirs, Path: w.c.Path, Now: w.c.Now,
		Prices:   w.c.Prices(),
		Archive:  func(noIndex bool) threadindex.Archive { return w.transcripts(set).Archive(noIndex) },
		Contains: w.contains, Bodies: w.c.Bodies, Remote: w.c.Remote, Share: w.c.Settings.SharesThreads(),
		KeepEnded: w.c.Settings.KeepsThreads() && (!w.c.Remote || w.c.Settings.SharesThreads()),
		Elsewhere: func(ctx context.Context, op, name string, err error) error {
			return w.elsewhere(ctx, set, op, name, err)
		},
		OpenCopy: func(ctx context.Context, u thread.URI) (*thread.View, error) {
			return w.transcripts(set).OpenCopy(ctx, u)
		},
	})
}

// transcripts returns the threads of a set with their kept copies.
func (w *Workspace) transcripts(set *thread.Set) keep.Transcripts {
	return keep.Transcripts{Core: w.c, Set: set, Copies: w.copies}
}

// attribution finds who published artifacts by the threads of a set.
func (w *Workspace) attribution(set *thread.Set) provenance.Attribution {
	return provenance.Attribution{Threads: w.transcripts(set)}
}
