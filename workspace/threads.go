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
		Hub:     w.c.Anonymous, Producer: w.c.Producer, Threads: observed(w, set), Observer: observer(w),
		Dirs: w.c.Dirs, Path: w.c.Path, Now: w.c.Now,
		Prices:   w.pricesFile(),
		Archive:  func(noIndex bool) threadindex.Archive { return w.archive(set, noIndex) },
		Contains: w.contains, Bodies: w.c.Bodies, Remote: w.c.Remote, Share: w.c.Settings.SharesThreads(),
		KeepEnded: w.c.Settings.KeepsThreads() && (!w.c.Remote || w.c.Settings.SharesThreads()),
		Elsewhere: func(ctx context.Context, op, name string, err error) error {
			return w.elsewhere(ctx, set, op, name, err)
		},
		OpenCopy: func(ctx context.Context, u thread.URI) (*thread.View, error) {
			return w.copies.Open(ctx, w.copyStore(set), u)
		},
	})
}

func (w *Workspace) copyStore(set *thread.Set) keep.Store {
	return keep.Store{Hub: w.c.Anonymous, Bodies: w.c.Bodies, Set: set}
}

// archive returns the index of threads, or their files, with kept copies of those
// whose transcripts are missing.
func (w *Workspace) archive(set *thread.Set, noIndex bool) threadindex.Archive {
	files := threadindex.NewFiles(w.copies.Listed(w.copyStore(set)))
	if noIndex || w.c.Cache == "" {
		return files
	}
	var progress func(done, total int)
	if w.c.Progress != nil {
		progress = func(done, total int) { w.c.Progress(handoff.Seq(done), handoff.Seq(total)) }
	}
	return threadindex.NewIndex(files, filepath.Join(w.c.Cache, "threads", threadindex.FileName(set.Roots())), w.c.Now,
		progress)
}
