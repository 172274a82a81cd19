// Package parts has what threads use of an open workspace. Package workspace fills it in, on
// behalf of one caller.
package parts

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// Threads are what threads use of a workspace, on behalf of one caller.
type Threads struct {
	Hub      *handoff.Hub // whose records name nobody
	Producer handoff.Producer
	Threads  *thread.Set
	Observer thread.Observer                        // concludes the states of threads
	Archive  func(noIndex bool) threadindex.Archive // the index of threads, or their files
	Dirs     config.Workspace
	Prices   string                    // file of the user's own prices, "" for none
	Path     func(typed string) string // a path as the caller types it, absolute
	Now      func() time.Time

	Bodies    handoff.Bodies
	Contains  func(dir string) bool // whether a directory belongs to the workspace
	Remote    bool                  // other machines may use the log
	Share     bool                  // share_threads of the settings
	KeepEnded bool                  // keep_threads of the settings, if they allow it in this log

	// Elsewhere returns the error of an operation that found nothing under a name, with a
	// hint for what has that name.
	Elsewhere func(ctx context.Context, op, name string, err error) error

	// Comment returns the text of a comment on an artifact.
	Comment func(context.Context, handoff.Artifact, handoff.Comment) string

	// OpenCopy opens the kept copy of a thread, nil if there is none.
	OpenCopy func(ctx context.Context, u thread.URI) (*thread.View, error)
}
