package lifecycle

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// End closes the session of a run and returns what it made. An expected output is
// delivered by an active artifact that is not empty: a name that was written, a
// file in the session's folder, or a path in the workspace. The receipt is valid
// also with an error, which means that the end is not recorded. Dir is the
// caller's directory.
//
// Error kinds: NotFound, and those of Log.Append.
func (ss *Sessions) End(ctx context.Context, id string, exit session.Exit, dir string) (session.Receipt, error) {
	status, reason := exit.Status()
	r := session.Receipt{ID: id, Status: status, Reason: reason, ExitCode: exit.Code, EndedAt: ss.Now(),
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
func (ss *Sessions) describe(ctx context.Context, r *session.Receipt, s handoff.Session, artifacts []handoff.Artifact,
	dir string) error {
	r.Parent, r.Agent, r.StartedAt, r.Folder = s.Parent, s.Agent.Name, s.OpenedAt, ss.absolute(s)
	for _, a := range slices.Backward(artifacts) {
		if a.Status == handoff.Active {
			r.Artifacts = append(r.Artifacts, a)
		}
	}
	top, err := ss.Top(ctx, s)
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
