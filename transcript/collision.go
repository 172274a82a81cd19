package transcript

import (
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A Collision is a file that two threads or subagents changed, each while
// the other was active. Of their changes, it has the two that are closest in time.
type Collision struct {
	Path   string `json:"path"`
	First  Change `json:"first"`
	Second Change `json:"second"`
}

// A Change is a call that changed a file.
type Change struct {
	URI thread.URI `json:"uri"` // of the message
	At  time.Time  `json:"changedAt"`

	Inferred bool `json:"inferred,omitempty"` // see thread.Call
}

// A Write is a change of a file, which is absolute.
type Write struct {
	Path string `json:"path"`
	Change
	By *Writer `json:"-"`
}

// A Writer is a thread or subagent that changed files.
type Writer struct {
	URI         thread.URI
	First, Last time.Time // when it was active, the zero time if that is not known
}

// Write returns the change of a file by a message. inferred is set if the call is.
func (w *Writer) Write(path string, message int, at time.Time, inferred bool) Write {
	uri := w.URI
	uri.From, uri.To = message, message
	return Write{path, Change{uri, at, inferred}, w}
}

// Collisions are the collisions that were found, by path.
type Collisions struct {
	Collisions []Collision `json:"collisions"`
	Warnings   []string    `json:"warnings,omitempty"` // what could not be read
}
