package workspace

import (
	"github.com/agent-handoff/handoff/workspace/internal/parts"
	"github.com/agent-handoff/handoff/workspace/store"
)

// Store returns what the workspace stores, to check and repair it, to remove what is not
// needed, and to send what is queued.
func (w *Workspace) Store() store.Store {
	s := w.Sessions()
	return store.New(parts.Store{Hub: w.hub, Log: w.rawLog, Checked: w.checked, Bodies: w.rawBodies, Queue: w.queue,
		Remote: w.remote, Index: w.index, Runtime: w.dirs.Runtime, RuntimeDir: w.runtimeDir, Settings: w.settings,
		Now: w.now, Due: s.ToArchive, Trash: s.Trash, RemoveTrash: s.RemoveTrash, As: w.as, Cache: w.cache,
		EraseLeft: w.eraseLeft, Stale: w.stale,
		Tidy: w.tidy, Resolve: w.Resolve})
}
