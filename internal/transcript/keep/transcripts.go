package keep

import (
	"context"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// Transcripts are the threads of a set in an open workspace, with the kept copies of those
// whose transcripts are missing.
type Transcripts struct {
	Core   *core.Core
	Set    *thread.Set // nil for none
	Copies *Copies
}

func (t Transcripts) store() Store {
	return Store{Hub: t.Core.Anonymous, Bodies: t.Core.Bodies, Set: t.Set}
}

// OpenCopy opens the kept copy of a thread, nil if there is none. Kinds: Corrupt, Unavailable.
func (t Transcripts) OpenCopy(ctx context.Context, u thread.URI) (*thread.View, error) {
	return t.Copies.Open(ctx, t.store(), u)
}

// Archive returns the index of the threads; or their files, with noIndex and if there is no
// directory for caches.
func (t Transcripts) Archive(noIndex bool) threadindex.Archive {
	files := threadindex.NewFiles(t.Copies.Listed(t.store()))
	if noIndex || t.Core.Cache == "" {
		return files
	}
	var progress func(done, total int)
	if t.Core.Progress != nil {
		progress = func(done, total int) { t.Core.Progress(handoff.Seq(done), handoff.Seq(total)) }
	}
	file := filepath.Join(t.Core.Cache, "threads", threadindex.FileName(t.Set.Roots()))
	return threadindex.NewIndex(files, file, t.Core.Now, progress)
}
