// Package storage has the types of what is stored: where a log is, the records that wait for
// it, and parts of bodies and of names.
//
// It has nouns only. Package workspace and the packages beside it return them.
package storage

import (
	"io"
	"net/url"

	"github.com/agent-handoff/handoff"
)

// A Backend stores the log and the bodies of a workspace. HANDOFF_LOG, or the
// setting log, selects it by the scheme of its URL.
//
// A backend implements the optional interfaces of package handoff as far as it
// can: without handoff.Identifier the index is in memory, without the others
// check, repair and collect do less. A log that implements io.Closer is closed
// with the workspace.
type Backend struct {
	Scheme string

	// Open returns the log and its body store. It creates nothing and opens no
	// connection: a workspace that is only opened leaves nothing behind.
	Open func(BackendOptions) (handoff.Log, handoff.Bodies, error)

	// Destinations returns what a location leads to, if that is decided by files that
	// a repository can bring: URLs, and absolute paths without symbolic links. It may
	// be nil. Kinds: NotFound, Unavailable.
	Destinations func(BackendOptions) ([]string, error)

	// Remote is set if several machines, or directories, may use the log at once.
	Remote bool

	// Queue is set if records are queued on this machine by default while the log
	// can't be reached.
	Queue bool

	// Settings are the names in the query of a location that do not change which log
	// it names.
	Settings []string
}

// BackendOptions are what a Backend gets to open a log.
type BackendOptions struct {
	Location *url.URL  // the value of HANDOFF_LOG or of the setting log
	Root     string    // the directory of the workspace
	Runtime  string    // the runtime directory, which exists before the first write
	Rand     io.Reader // for the log's ID

	Getenv func(string) string // a variable of the environment

	Destinations []string // that the user has accepted, and that are used; nil if the user named the log

	Warn func(string) // called with what the user should know about the log; may be nil
}
