package workspace

import (
	"context"
	"errors"
	"reflect"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// A Shown is what a ref names: an artifact, a session or run, or the pipeline
// run of an issue. Exactly one of the first three fields is set.
type Shown struct {
	Artifact *handoff.Artifact
	Session  *session.Detail
	Issue    *pipeline.Overview

	published []handoff.Artifact // in the session

	Receipt *trace.Receipt // of an artifact or session, nil unless AddTranscripts found work

	NoThread bool // there is no transcript here of the thread that the record of an artifact names; set by AddTranscripts

	Verification *trace.Verification // of an artifact with claims, set by AddTranscripts

	Discussion  []reviews.ShownComment // of an artifact: its comments with their texts
	NextComment string                 // the ID of the comment or reply with which the rest of them begins, "" for none
}

// MarshalJSON returns the one that is set, with the receipt as its field work, the
// verdicts as verification, the comments as discussion instead of comments, and noThread.
func (s Shown) MarshalJSON() ([]byte, error) {
	b, err := handoff.EncodeJSON(s.value())
	if err == nil && len(s.Discussion) > 0 {
		b, err = jsonl.WithFields(b, noticesOf{s.Artifact.Notices()})
	}
	more := shownMore{workOf{s.Receipt}, s.NoThread, s.Verification, s.Discussion, s.NextComment}
	if err != nil || reflect.ValueOf(more).IsZero() {
		return b, err
	}
	return jsonl.WithFields(b, more)
}

// shownMore are the fields that the JSON of what is shown adds to it.
type shownMore struct {
	workOf
	NoThread     bool                   `json:"noThread,omitempty"`
	Verification *trace.Verification    `json:"verification,omitempty"`
	Discussion   []reviews.ShownComment `json:"discussion,omitempty"`
	NextComment  string                 `json:"nextComment,omitempty"`
}

// noticesOf are the notices of an artifact, also of comments that its JSON does not have.
type noticesOf struct {
	Notices []handoff.Notice `json:"notices,omitempty"`
}

// workOf is the work of an artifact or session.
type workOf struct {
	Work *trace.Receipt `json:"work,omitempty"`
}

func (s Shown) value() any {
	switch {
	case s.Artifact != nil:
		a := *s.Artifact
		if len(s.Discussion) > 0 {
			a.Comments = nil
		}
		return a
	case s.Session != nil:
		return *s.Session
	}
	return s.Issue
}

// JSONName returns the name of the schema of what is shown.
func (s Shown) JSONName() string {
	switch {
	case s.Artifact != nil:
		return "ShownArtifact"
	case s.Session != nil:
		return "ShownSession"
	}
	return "PipelineOverview"
}

// JSONParts returns the structs whose members the JSON of what is shown can have.
func (s Shown) JSONParts() []any {
	switch {
	case s.Artifact != nil:
		return append(s.Artifact.JSONParts(), shownMore{})
	case s.Session != nil:
		return []any{session.Detail{}, workOf{}}
	}
	return []any{pipeline.Overview{}}
}

// Show returns what a ref names. The ID of a session or run, or of an issue with
// a pipeline run, is a ref too; so is any other ref to a session (see
// Sessions.Resolve) that names no artifact. With files, a session's detail has what is in its
// folder.
//
// Kinds: NotFound, Conflict (an ambiguous ref), Invalid (files, of something that
// is not a session).
func (w *Workspace) Show(ctx context.Context, ref string, files bool) (Shown, error) {
	shown, err := w.showGroup(ctx, ref, files)
	if err != nil || shown.Session != nil || shown.Issue != nil {
		return shown, err
	}
	id, err := w.Resolve(ctx, ref)
	if files || errors.Is(err, handoff.NotFound) {
		s, sessionErr := w.sessions.Resolve(ctx, ref, w.c.Dir)
		switch {
		case sessionErr == nil:
			return w.showSession(ctx, s.ID, files)
		case !errors.Is(sessionErr, handoff.NotFound):
			return Shown{}, sessionErr
		case files:
			return Shown{}, handoff.E("show", ref, handoff.Invalid, errors.New("not a session; only a session has files"),
				handoff.Suggest("list the sessions", handoff.ActionSessions))
		}
	}
	if err != nil {
		return Shown{}, err
	}
	a, err := w.c.Anonymous.Artifact(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	one := []handoff.Artifact{a}
	w.attribution(w.threads).Attribute(ctx, one...)
	a.Attributed = one[0].Attributed
	comments, err := w.Reviews().Discussion(ctx, a)
	return Shown{Artifact: &a, Discussion: comments}, err
}

// showGroup returns the session or the pipeline run that a ref names, if it
// names one.
func (w *Workspace) showGroup(ctx context.Context, ref string, files bool) (Shown, error) {
	session, issue := w.c.IsSession(ctx, ref), w.Pipelines().IsOpen(ref)
	switch {
	case session && issue:
		return Shown{}, handoff.E("show", ref, handoff.Conflict, errors.New("is the ID of a session and of an issue"),
			handoff.Suggest("see what comes next in the issue", handoff.ActionNext, ref))
	case session:
		return w.showSession(ctx, ref, files)
	case issue && !files:
		o, err := w.Pipelines().Overview(ctx, ref)
		return Shown{Issue: &o}, err
	case !files && w.Pipelines().IsPast(ctx, ref):
		if _, err := w.Resolve(ctx, ref); !errors.Is(err, handoff.NotFound) {
			return Shown{}, nil // it is also a name
		}
		o, err := w.Pipelines().Overview(ctx, ref)
		return Shown{Issue: &o}, err
	}
	return Shown{}, nil
}
