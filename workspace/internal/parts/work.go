// Package parts has what the packages beside workspace use of an open workspace. Each is
// filled in by package workspace, on behalf of one caller.
package parts

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Work are what the operations on work use of a workspace, on behalf of one caller.
type Work struct {
	Hub       *handoff.Hub // whose records name the caller
	Producer  handoff.Producer
	Session   string // the caller's, "" for none
	Sessions  FoundSessions
	Resolve   func(ctx context.Context, ref string) (string, error) // the ID of a session or run
	Threads   *thread.Set                                           // nil to record work
	Archive   func(noIndex bool) threadindex.Archive                // the index of threads, or their files
	Worktrees func() []string                                       // the directories of this repository
	Prices    string                                                // file of the user's own prices, "" for none
	Path      func(typed string) string                             // a path as the caller types it, absolute
	// what an artifact published, "" if it is not text or not known
	Text   func(context.Context, handoff.Artifact) string
	Finish func(ctx context.Context, session string) []string // what follows a record; returns warnings
	Now    func() time.Time

	// Attribute adds to artifacts who published them as transcripts show it.
	Attribute func(context.Context, []handoff.Artifact)

	// Reassigned returns the artifacts of a time that transcripts show to be of another thread
	// than their records do, and what they may not show.
	Reassigned func(ctx context.Context, since, until time.Time) ([]handoff.Artifact, []string, error)

	// Before returns the threads whose work that of a URI continues, as threadindex.Before does.
	Before func(ctx context.Context, uri thread.URI) (list []transcript.Item, rest thread.URI, err error)

	// Named returns what a name means, the zero value for nothing.
	Named func(ctx context.Context, name string) (Meaning, error)

	// Conclude returns work with the status of what has no end.
	Conclude func(context.Context, []handoff.Work) []handoff.Work
}

// FoundSessions finds sessions and runs by their IDs.
type FoundSessions interface {
	Session(ctx context.Context, id string) (handoff.Session, error)

	// Read returns a session with its artifacts.
	Read(ctx context.Context, id string) (handoff.Session, []handoff.Artifact, error)

	// Tree returns a session and all runs in it.
	Tree(ctx context.Context, s handoff.Session) ([]handoff.Session, error)
}

// A Meaning is what a name is of.
type Meaning struct {
	What string       // in words, "" for nothing
	By   string       // the group of costs whose rows it has, "" for none
	Keys []string     // of those rows
	Show handoff.Hint // how to show it
}
