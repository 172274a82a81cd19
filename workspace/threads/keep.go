package threads

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// KeepOptions select the transcripts to keep, and how.
type KeepOptions struct {
	Redact       bool // replace secrets in the copies
	AllowSecrets bool // keep transcripts as they are although they have secrets
	DryRun       bool // keep nothing

	URIs       []string
	Referenced bool   // those that an artifact, a session or the work in one names
	Session    string // with Referenced, only those of this session or run
}

// Kept are the transcripts that Keep was asked for.
type Kept struct {
	Threads []transcript.Copy `json:"threads"`
	DryRun  bool              `json:"dryRun,omitempty"`
}

// Keep copies the transcripts of threads, with those of their subagents, to the
// body store, so that OpenKept opens them after their tool has removed them. One that
// has secrets is refused unless they are redacted or allowed. In a log that other
// machines use, secrets are always redacted.
//
// Kinds: Invalid (a URI), NotFound, Unavailable (the transcript of a URI), Unsupported
// (its tool keeps threads together; share_threads of the settings is off, and the
// log is remote), and those of storing a body and of Log.Append.
func (c Collection) Keep(ctx context.Context, o KeepOptions) (Kept, error) {
	done := Kept{Threads: []transcript.Copy{}, DryRun: o.DryRun}
	if err := c.c.Anonymous.Closed(); err != nil {
		return done, err
	}
	if c.c.Remote && !c.c.Settings.SharesThreads() {
		return done, handoff.E("keep thread", "", handoff.Unsupported,
			errors.New("other machines use this log, and the settings do not share transcripts"),
			handoff.Suggest("share them, redacted, once the user has agreed", handoff.ActionSet, "share_threads", "true"))
	}
	how := keep.Options{Redact: o.Redact, AllowSecrets: o.AllowSecrets, DryRun: o.DryRun}
	if c.c.Remote {
		how.Redact, how.AllowSecrets = true, false
	}
	uris, named := o.URIs, len(o.URIs)
	if o.Referenced {
		list, err := keep.Referenced(ctx, c.c.Anonymous, o.Session)
		if err != nil {
			return done, err
		}
		uris = append(uris[:len(uris):len(uris)], list...)
	}
	p := c.c.Producer
	if o.Session != "" {
		p.Session = o.Session // an export of the session has the copy
	}
	k := keep.Keeper{Hub: c.c.Anonymous.As(p), Bodies: c.c.Bodies, Set: c.set}
	list, err := k.KeepAll(ctx, uris, named, how)
	done.Threads = append(done.Threads, list...)
	return done, err
}

// KeepEnded keeps the transcripts that a session or run that has ended references, with
// secrets redacted, if keep_threads of the settings is on. Kinds: those of Keep.
func (c Collection) KeepEnded(ctx context.Context, session string) (Kept, error) {
	if err := c.c.Anonymous.Closed(); err != nil || !c.keepsEnded() {
		return Kept{}, err
	}
	return c.Keep(ctx, KeepOptions{Referenced: true, Session: session, Redact: true})
}

// KeepReferenced keeps the transcript of one thread as KeepEnded does, if an
// artifact references it or it worked in a session.
func (c Collection) KeepReferenced(ctx context.Context, uri string, inSession bool) error {
	if err := c.c.Anonymous.Closed(); err != nil || !c.keepsEnded() || uri == "" {
		return err
	}
	page, err := c.c.Anonymous.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"thread": uri},
		IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 && !inSession {
		return err
	}
	_, err = c.Keep(ctx, KeepOptions{Redact: true, URIs: []string{uri}})
	return err
}

// OpenKept opens the kept copy of a thread, nil if there is none. The view can be
// read until the workspace is closed. It is for thread.Set.SetFallback.
//
// Kinds: Corrupt (the copy), Unavailable.
func (c Collection) OpenKept(ctx context.Context, u thread.URI) (*thread.View, error) {
	if err := c.c.Anonymous.Closed(); err != nil {
		return nil, err
	}
	return c.all.OpenCopy(ctx, u)
}

// keepsEnded reports whether the settings keep the transcripts of what has ended, in this log.
func (c Collection) keepsEnded() bool {
	return c.c.Settings.KeepsThreads() && (!c.c.Remote || c.c.Settings.SharesThreads())
}
