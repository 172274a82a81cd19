// Package parts has what the packages beside workspace use of an open workspace. Each is
// filled in by package workspace, on behalf of one caller.
package parts

import (
	"context"
	"io"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/queue"
	"github.com/agent-handoff/handoff/internal/session/launch"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/session"
)

// Sessions are what packages sessions and runs use of a workspace, on behalf of one caller.
type Sessions struct {
	Hub      *handoff.Hub // whose records name the caller
	Producer handoff.Producer
	Own      string // the ID of the caller's session, "" for none
	Within   string // the session or run that a run of the caller is part of, "" for none
	Dirs     config.Workspace
	Settings config.Config
	Sessions *lifecycle.Sessions
	Now      func() time.Time
	Rand     io.Reader

	Dir        string                                                     // absolute; paths as typed are relative to it
	Path       func(typed string) string                                  // a path as the caller types it, absolute
	Inside     func(root, typed string) (string, error)                   // the same, relative to root
	Resolve    func(ctx context.Context, ref string) (string, error)      // the ID of an artifact
	ResolveAll func(ctx context.Context, refs []string) ([]string, error) // the same of several
	File       func(ctx context.Context, a handoff.Artifact) string       // the file of an artifact, absolute
	Folder     func(s handoff.Session) string                             // the folder of a session, absolute
	FolderByID func(ctx context.Context, id string) string                // the same, or where it would be

	// IDs of sessions with all words, and how many active artifacts sessions and runs published
	Matching func(ctx context.Context, words string, archived bool) (ids []string, more bool, err error)
	CountIn  func(ctx context.Context, ids []string) (map[string]int, error)

	Store  lifecycle.Store // without its directory of outputs: what decides which files can be removed
	Log    handoff.Log     // where the records of an import are appended
	Bodies handoff.Bodies  // where its bodies are stored
	// the origin of an import, nil if no other machine uses the log
	Origin func() (string, error)

	IsSession  func(ctx context.Context, ref string) bool         // whether a ref is the ID of a session
	Finish     func(ctx context.Context, session string) []string // what follows a record; returns warnings
	SendQueued func(ctx context.Context)                          // what follows the end of a session
}

// Recorder changes sessions on behalf of the caller.
func (s Sessions) Recorder() *lifecycle.Sessions { return s.Sessions.As(s.Producer) }

// Launcher opens sessions on behalf of the caller.
func (s Sessions) Launcher() launch.Launcher {
	return launch.Launcher{
		Dirs: s.Dirs, Settings: s.Settings, Sessions: s.Recorder(), Now: s.Now, Rand: s.Rand,
		Dir: s.Dir, WorkID: s.Producer.WorkID, Artifact: s.Resolve,
	}
}

// A Store is what package store uses of a workspace.
type Store struct {
	Hub        *handoff.Hub
	Log        handoff.Log    // as its backend opened it
	Checked    handoff.Log    // Log with a check that also finds what this machine knows and the log has lost
	Bodies     handoff.Bodies // as its backend opened them
	Queue      *queue.Log     // nil if nothing is queued while the log can't be reached
	Remote     bool           // other machines may use the log
	Index      *localstate.Index
	Runtime    string // the runtime directory, absolute
	RuntimeDir *localstate.Dir
	Settings   config.Config
	Now        func() time.Time

	Due   func(ctx context.Context) ([]session.Due, error)     // the sessions to archive
	Trash func(ctx context.Context) ([]session.Summary, error) // the deleted sessions that have files
	// removes the files of those that a function selects
	RemoveTrash func(ctx context.Context, selects func(session.Summary) bool) ([]session.Summary, error)
	As          *handoff.Hub // whose records name the caller
	Cache       string       // the directory of the user's caches, "" for none

	EraseLeft func(ctx context.Context) error // erases redacted bodies that are still here

	Tidy    func(ctx context.Context) ([]string, error)           // completes the work of killed processes
	Resolve func(ctx context.Context, ref string) (string, error) // the ID of an artifact

	// Stale reports whether the file of an artifact was not rendered, and with render
	// renders it.
	Stale func(ctx context.Context, a handoff.Artifact, render bool) (bool, error)
}
