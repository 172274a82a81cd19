package workspace

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/hook"
	"github.com/agent-handoff/handoff/internal/keep"
	"github.com/agent-handoff/handoff/thread"
)

// KeepThreadsOptions select the transcripts to keep, and how.
type KeepThreadsOptions struct {
	Redact       bool // replace secrets in the copies
	AllowSecrets bool // keep transcripts as they are although they have secrets
	DryRun       bool // keep nothing

	URIs       []string
	Referenced bool   // those that an artifact, a session or the work in one names
	Session    string // with Referenced, only those of this session or run
}

// KeptThreads are the transcripts that KeepThreads was asked for.
type KeptThreads struct {
	Threads []ThreadCopy `json:"threads"`
	DryRun  bool         `json:"dryRun,omitempty"`
}

// A ThreadCopy is what was done with one transcript.
type ThreadCopy = keep.Result

// The statuses of a ThreadCopy that was not made.
const (
	ThreadRefused     = keep.Refused
	ThreadMissing     = keep.Missing
	ThreadUnsupported = keep.Unsupported
)

// KeepThreads copies the transcripts of conversations, with those of their subagents,
// to the body store, so that OpenKeptThread opens them after their tool has removed
// them. One that has secrets is refused unless they are redacted or allowed. In a log
// that other machines use, secrets are always redacted.
//
// Kinds: Invalid (a URI), NotFound, Unavailable (the transcript of a URI), Unsupported
// (its tool keeps conversations together; share_threads of the settings is off, and the
// log is remote), and those of storing a body and of Log.Append.
func (w *Workspace) KeepThreads(ctx context.Context, set *thread.Set, o KeepThreadsOptions) (KeptThreads, error) {
	done := KeptThreads{Threads: []ThreadCopy{}, DryRun: o.DryRun}
	if err := w.hub.Closed(); err != nil {
		return done, err
	}
	if w.remote && !w.settings.ShareThreads {
		return done, &handoff.Error{Op: "keep thread", Kind: handoff.Unsupported, Err: errors.New("other machines use this log, and the settings do not share transcripts"),
			Hint: handoff.Advice("set share_threads: true in .handoff/config.yaml, once the user has agreed")}
	}
	how := keep.Options{Redact: o.Redact, AllowSecrets: o.AllowSecrets, DryRun: o.DryRun}
	if w.remote {
		how.Redact, how.AllowSecrets = true, false
	}
	uris, named := o.URIs, len(o.URIs)
	if o.Referenced {
		list, err := keep.Referenced(ctx, w.hub, o.Session)
		if err != nil {
			return done, err
		}
		uris = append(uris[:len(uris):len(uris)], list...)
	}
	p := w.caller.Producer
	if o.Session != "" {
		p.Session = o.Session // an export of the session has the copy
	}
	k := keep.Keeper{Hub: w.hub.As(p), Bodies: w.bodies, Set: set}
	list, err := k.KeepAll(ctx, uris, named, how)
	done.Threads = append(done.Threads, list...)
	return done, err
}

// KeepsThreads reports whether keep_threads of the settings is on: call KeepThreads
// with Redact when a session has ended.
func (w *Workspace) KeepsThreads() bool {
	return w.settings.KeepThreads && (!w.remote || w.settings.ShareThreads)
}

// keepEnded keeps the transcript of an agent's session that has ended, if the settings
// say so and an artifact or a session references it.
func (w *Workspace) keepEnded(ctx context.Context, set *thread.Set, e HookEvent) error {
	if e.Kind != hook.SessionEnd || !w.KeepsThreads() || e.Thread() == "" {
		return nil
	}
	page, err := w.hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"thread": e.Thread()}, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 && e.HandoffSession == "" && e.HandoffRun == "" {
		return err
	}
	_, err = w.KeepThreads(ctx, set, KeepThreadsOptions{Redact: true, URIs: []string{e.Thread()}})
	return err
}

// OpenKeptThread opens the kept copy of a conversation, nil if there is none. The view
// can be read until w is closed. It is for thread.Set.SetFallback.
//
// Kinds: Corrupt (the copy), Unavailable.
func (w *Workspace) OpenKeptThread(ctx context.Context, set *thread.Set, u thread.URI) (*thread.View, error) {
	if err := w.hub.Closed(); err != nil {
		return nil, err
	}
	return w.copies.Open(ctx, keep.Store{Hub: w.hub, Bodies: w.rawBodies, Set: set}, u)
}
