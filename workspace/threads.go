package workspace

import (
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// Threads returns the threads that the agent programs of a set keep on
// this machine.
func (w *Workspace) Threads(set *thread.Set) threads.Collection {
	return threads.New(w.c, w.transcripts(set), observer(w), namer{w, set})
}

// transcripts returns the threads of a set with their kept copies.
func (w *Workspace) transcripts(set *thread.Set) keep.Transcripts {
	return keep.Transcripts{Core: w.c, Set: set, Copies: w.copies}
}

// attribution finds who published artifacts by the threads of a set.
func (w *Workspace) attribution(set *thread.Set) provenance.Attribution {
	return provenance.Attribution{Threads: w.transcripts(set)}
}
