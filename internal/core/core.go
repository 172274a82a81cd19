// Package core is an open workspace as one caller uses it: its log, index and bodies, its
// directories and settings, and who calls. Every subject is built on one.
//
// A subject adds what it does of its own accord as a Follower, and what only it knows of a ref as
// a Finder. Package workspace opens a Core and lists both.
package core

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/queue"
)

// A Core is an open workspace on behalf of one caller. It is safe for concurrent use.
type Core struct {
	Hub       *handoff.Hub // whose records name the caller
	Anonymous *handoff.Hub // whose records name nobody

	// The caller: see Caller of package workspace.
	Producer   handoff.Producer
	Dir        string
	SessionDir string
	Within     string

	Dirs     config.Workspace
	Settings config.Config
	Now      func() time.Time
	Rand     io.Reader
	Cache    string // the directory of the user's caches, "" for none
	State    string // the user's state directory, "" for none
	UserHome string // the user's home directory

	Log        handoff.Log    // creates the runtime directory before the first record
	Bodies     handoff.Bodies // likewise
	Index      *localstate.Index
	RawLog     handoff.Log    // as its backend opened it
	Checked    handoff.Log    // RawLog with a check that also finds what this machine knows and the log has lost
	RawBodies  handoff.Bodies // as its backend opened them
	Queue      *queue.Log     // nil if nothing is queued while the log can't be reached
	Remote     bool           // other machines may use the log
	RuntimeDir *localstate.Dir

	Files     *os.Root // the workspace's directory
	Home      *os.Root // that the folders of sessions are in
	Published *content.Files
	Progress  func(done, total handoff.Seq) // see Options of package workspace
	Copying   func(done, total int64)       // likewise

	Followers []Follower
	Finders   []Finder
	Tidied    *Tidied // shared by all callers
}

// A Follower does what follows a record. The record is stored: what fails is a warning.
type Follower interface {
	// Recorded follows a record of a session, "" for none.
	Recorded(ctx context.Context, session string) (warnings []string)

	// Tidy completes the work of processes that were killed.
	Tidy(ctx context.Context, c *Core) (warnings []string, err error)
}

// A Finder finds a file that a ref names and that has no record.
type Finder interface {
	// FindUnrecorded returns the path of the file and how to record it. ok is false for none.
	FindUnrecorded(ref string) (file string, record handoff.Hint, ok bool)
}

// A Tidied knows when this process last completed the work of killed ones. The zero value is
// ready to use.
type Tidied struct {
	mu sync.Mutex
	at time.Time
}

// tidyEvery is how often one process completes what others left.
const tidyEvery = 10 * time.Second

// isDue reports whether it is time to complete the work of others, and starts the time anew.
func (t *Tidied) isDue(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.at.IsZero() && now.Sub(t.at) < tidyEvery {
		return false
	}
	t.at = now
	return true
}

// Finish does what follows a record of a session, "" for none. What fails is returned as
// warnings, because the record is stored.
func (c *Core) Finish(ctx context.Context, session string) (warnings []string) {
	ctx = context.WithoutCancel(ctx)
	for _, f := range c.Followers {
		warnings = append(warnings, f.Recorded(ctx, session)...)
	}
	if !c.Tidied.isDue(c.Now()) {
		return warnings
	}
	more, err := c.Tidy(ctx)
	warnings = append(warnings, more...)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	return warnings
}

// Tidy completes the work of processes that were killed. Its error has those of all followers.
func (c *Core) Tidy(ctx context.Context) (warnings []string, err error) {
	for _, f := range c.Followers {
		more, failed := f.Tidy(ctx, c)
		warnings, err = append(warnings, more...), errors.Join(err, failed)
	}
	return warnings, err
}

// SendQueued sends what is queued. What can't be sent is queued still, about which the queue
// warns.
func (c *Core) SendQueued(ctx context.Context) {
	if c.Queue != nil && !c.Queue.Offline() {
		if sent, err := c.Queue.SendNew(ctx); err == nil && sent.Sent > 0 {
			_, _ = c.Hub.Newest(ctx) // this machine remembers what it has sent
		}
	}
}

// OwnSession returns the ID of the caller's session, "" for none. A program's own ID is not
// that of a session that handoff opened.
func (c *Core) OwnSession() string {
	if c.Producer.Source != handoff.FromHarness && c.Producer.Source != handoff.FromInherited {
		return c.Producer.Session
	}
	return ""
}

// IsSession reports whether a ref is the ID of a session or run that was opened.
func (c *Core) IsSession(ctx context.Context, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := c.Hub.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

// Eraser returns what erases redacted bodies.
func (c *Core) Eraser() content.Eraser {
	return content.Eraser{Hub: c.Anonymous, Bodies: c.RawBodies, Files: c.Published}
}
