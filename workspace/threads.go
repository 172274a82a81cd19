package workspace

import (
	"context"
	"path/filepath"

	"github.com/agent-handoff/handoff"
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
		Hub:     w.hub, Producer: w.caller.Producer, Threads: observed(w, set), Observer: observer(w),
		Dirs: w.dirs, Path: w.path, Now: w.now,
		Prices:   w.pricesFile(),
		Archive:  func(noIndex bool) threadindex.Archive { return w.archive(set, noIndex) },
		Contains: w.contains, Bodies: w.bodies, Remote: w.remote, Share: w.settings.SharesThreads(),
		KeepEnded: w.settings.KeepsThreads() && (!w.remote || w.settings.SharesThreads()),
		Elsewhere: func(ctx context.Context, op, name string, err error) error {
			return w.elsewhere(ctx, set, op, name, err)
		},
		OpenCopy: func(ctx context.Context, u thread.URI) (*thread.View, error) {
			return w.copies.Open(ctx, w.copyStore(set), u)
		},
	})
}

func (w *Workspace) copyStore(set *thread.Set) keep.Store {
	return keep.Store{Hub: w.hub, Bodies: w.bodies, Set: set}
}

// archive returns the index of threads, or their files, with kept copies of those
// whose transcripts are missing.
func (w *Workspace) archive(set *thread.Set, noIndex bool) threadindex.Archive {
	files := threadindex.NewFiles(w.copies.Listed(w.copyStore(set)))
	if noIndex || w.cache == "" {
		return files
	}
	var progress func(done, total int)
	if w.progress != nil {
		progress = func(done, total int) { w.progress(handoff.Seq(done), handoff.Seq(total)) }
	}
	return threadindex.NewIndex(files, filepath.Join(w.cache, "threads", threadindex.FileName(set.Roots())), w.now,
		progress)
}
