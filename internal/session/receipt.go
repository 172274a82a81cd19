package session

import (
	"context"
	"fmt"
	"slices"
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

// End closes the session of a run and returns what it made. An expected output is
// delivered by an active artifact that is not empty: a name that was written, a
// file in the session's folder, or a path in the workspace. The receipt is valid
// also with an error, which means that the end is not recorded. Dir is the
// caller's directory.
//
// Error kinds: NotFound, and those of Log.Append.
func (ss *Sessions) End(ctx context.Context, id string, exit Exit, dir string) (Receipt, error) {
	status, reason := exit.Status()
	r := Receipt{ID: id, Status: status, Reason: reason, ExitCode: exit.Code, EndedAt: ss.Now(),
		Artifacts: []handoff.Artifact{}}
	s, artifacts, err := ss.Read(ctx, id)
	if err == nil {
		err = ss.describe(ctx, &r, s, artifacts, dir)
	}
	warnings, closing := ss.Close(ctx, id, status, reason, time.Time{})
	r.Warnings, r.Recorded = warnings, closing == nil
	if err != nil && closing == nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
	return r, closing
}

// describe completes a receipt with what the log has of its session.
func (ss *Sessions) describe(ctx context.Context, r *Receipt, s handoff.Session, artifacts []handoff.Artifact,
	dir string) error {
	r.Parent, r.Agent, r.StartedAt, r.Folder = s.Parent, s.Agent.Name, s.OpenedAt, ss.absolute(s)
	for _, a := range slices.Backward(artifacts) {
		if a.Status == handoff.Active {
			r.Artifacts = append(r.Artifacts, a)
		}
	}
	top, err := Top(ctx, ss, s)
	if err != nil {
		return err
	}
	r.Expected = Expectations(s, r.Artifacts)
	for i, e := range r.Expected {
		if !e.Delivered {
			r.Expected[i].Hint = deliverHint(s, top, r.Folder, dir, e.Name)
		}
	}
	return nil
}
