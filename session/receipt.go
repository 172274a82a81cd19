package session

import (
	"fmt"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
)

// An Exit is how the command of a run ended.
type Exit struct {
	Code   int            // its exit code; 128 and the number of the signal that ended it
	Signal syscall.Signal // the signal that ended it, 0 for none
	Asked  syscall.Signal // the last signal that asked the parent to end, 0 for none
}

// Status returns the status of a session whose command ended, and the reason. A
// command that was asked to end is cancelled, unless it handled an interrupt or a
// hang-up and then succeeded.
func (e Exit) Status() (status, reason string) {
	failed := e.Code != 0
	light := e.Asked == syscall.SIGINT || e.Asked == syscall.SIGHUP
	switch {
	case e.Asked != 0 && (failed || !light):
		return Cancelled, e.Asked.String()
	case e.Signal != 0:
		return Failed, fmt.Sprintf("signal %d (%s)", e.Signal, e.Signal)
	case failed:
		return Failed, fmt.Sprintf("exit code %d", e.Code)
	}
	return Completed, ""
}

// A Receipt lists what a run made, and how it ended.
type Receipt struct {
	ID        string             `json:"id"`
	Parent    string             `json:"parent,omitempty"` // the session that it is a run of
	Agent     string             `json:"agent"`
	Folder    string             `json:"folder"` // absolute
	Status    string             `json:"status"`
	Reason    string             `json:"reason,omitempty"`
	ExitCode  int                `json:"exitCode"` // of the command
	Recorded  bool               `json:"recorded"` // the end is in the log
	StartedAt time.Time          `json:"startedAt"`
	EndedAt   time.Time          `json:"endedAt"`
	Artifacts []handoff.Artifact `json:"artifacts"` // the active ones, oldest first
	Expected  []Expected         `json:"expected,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
}

// An Expected is an output that a session should leave.
type Expected struct {
	Name      string       `json:"name"`
	Delivered bool         `json:"delivered"`
	Hint      handoff.Hint `json:"-"` // how to deliver it
}

// Delivered reports whether every expected output was delivered.
func (r Receipt) Delivered() bool {
	for _, e := range r.Expected {
		if !e.Delivered {
			return false
		}
	}
	return true
}
