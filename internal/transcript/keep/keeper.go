package keep

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// Options select how transcripts are kept.
type Options struct {
	Redact       bool // replace secrets in the copy
	AllowSecrets bool // keep a transcript as it is although it has secrets
	DryRun       bool
}

// A Keeper keeps transcripts of one workspace.
type Keeper struct {
	Hub    *handoff.Hub // whose records name the caller
	Bodies handoff.Bodies
	Set    *thread.Set
}

// KeepAll keeps copies of threads. It ends at the first error, which for the
// first named of the URIs includes that there is no copy. Kinds: those of Keep, and
// of Result.Err.
func (k Keeper) KeepAll(ctx context.Context, uris []string, named int, o Options) (done []transcript.Copy, err error) {
	for i, uri := range uris {
		u, err := thread.ParseURI(uri)
		if err != nil {
			return done, err
		}
		r, err := k.Keep(ctx, u, o)
		if err == nil && i < named {
			err = r.Err
		}
		if err != nil {
			return done, err
		}
		done = append(done, r)
	}
	return done, nil
}

// Keep keeps a copy of a thread with its subagents, unless the newest copy is
// equal. A Result has the status Missing, Refused or Unsupported if there is none, also if
// the transcript changes while it is read. With Redact, a copy whose transcript was
// removed is replaced by one without its secrets.
// Kinds: Invalid (the URI), those of Bodies.Put and Log.Append.
func (k Keeper) Keep(ctx context.Context, u thread.URI, o Options) (transcript.Copy, error) {
	r := transcript.Copy{URI: u.Main().String()}
	set, before := k.Set, 0
	v, err := set.Open(ctx, u.Main())
	if errors.Is(err, handoff.NotFound) && o.Redact {
		var copies Copies
		defer copies.Close() // of temporary files
		store := Store(k)
		if kept, dir, copied, failed := copies.open(ctx, store, u.Main()); failed != nil {
			err = failed
		} else if copied != nil {
			set, v, err, before = At(k.Set, copied.Thread.Provider, dir), copied, nil, kept.Redacted
		}
	}
	var p *Plan
	if err == nil {
		r.URI = v.URI.Main().String()
		p, err = New(ctx, set, v, o.Redact)
	}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil:
		return unread(r, err)
	}
	defer p.Close()
	r.Status, r.Files, r.TranscriptBytes, r.Findings = transcript.Kept, p.Files(), p.Size, p.Findings
	if r.Secrets = p.Secrets; o.Redact {
		r.Redacted, r.Secrets = before+p.Secrets, 0
	}
	if r.Secrets > 0 && !o.AllowSecrets {
		r.Status, r.Reason = transcript.Refused, "it contains what looks like a secret"
		return r, nil
	}
	if !o.DryRun {
		err = k.store(ctx, p, &r)
	} else {
		sum := &counter{to: io.Discard}
		err = p.writeUsable(ctx, sum)
		r.SizeBytes = sum.n
	}
	if failed := (readError{}); errors.As(err, &failed) {
		return unread(r, failed.error)
	}
	return r, err
}

// unread sets the status for an error of reading a transcript, and returns all others.
func unread(r transcript.Copy, err error) (transcript.Copy, error) {
	status := transcript.Missing
	switch {
	case errors.Is(err, handoff.Unsupported):
		status = transcript.Unsupported
	case errors.Is(err, handoff.NotFound), errors.Is(err, handoff.Unavailable), errors.Is(err, handoff.Conflict):
	default:
		return r, err
	}
	return transcript.Copy{URI: r.URI, Status: status, Reason: err.Error(), Err: err}, nil
}

// A readError is an error of reading a transcript, not of storing its copy.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// writeUsable writes a copy that can be opened. Its errors are readErrors, or that of ctx.
func (p *Plan) writeUsable(ctx context.Context, sum *counter) error {
	err := p.Write(ctx, sum)
	if err == nil && p.Size > maxSize(sum.n) {
		err = handoff.E("keep thread", p.URI, handoff.Unsupported,
			errors.New("its content is repeated so often that the copy could not be opened"))
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return readError{err}
}

// store stores the body of a copy and records it.
func (k Keeper) store(ctx context.Context, p *Plan, r *transcript.Copy) error {
	from, to := io.Pipe()
	sum := &counter{to: to}
	go func() { to.CloseWithError(p.writeUsable(ctx, sum)) }()
	d, err := k.Bodies.Put(ctx, from)
	from.CloseWithError(err)
	if err != nil {
		return err
	}
	r.Digest, r.SizeBytes = d, sum.n
	known, err := k.Hub.KeptThreads(ctx, r.URI)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(known, func(c handoff.KeptThread) bool { return c.Digest == d && c.Dropped == nil }); i >= 0 {
		r.Status, r.RecordID = transcript.Unchanged, known[i].RecordID
		return nil
	}
	record, _, err := k.Hub.Record(ctx, &handoff.ThreadKept{Thread: r.URI, Digest: d, SizeBytes: r.SizeBytes,
		Files: r.Files, TranscriptBytes: r.TranscriptBytes,
		ModifiedAt: p.Modified.UTC(), Redacted: r.Redacted, Secrets: r.Secrets})
	r.RecordID = record.ID
	return err
}

// Referenced returns the URIs of the threads that artifacts, sessions and work in
// sessions name, sorted; those of one session and its runs if it is not "".
func Referenced(ctx context.Context, hub *handoff.Hub, session string) ([]string, error) {
	uris := map[string]bool{}
	add := func(uri string) {
		if u, err := thread.ParseURI(uri); err == nil {
			uris[u.Main().String()] = true
		}
	}
	queries := []handoff.ArtifactQuery{{IncludeInactive: true}}
	if session != "" {
		queries = nil
		for _, slot := range []string{"session", "run"} {
			queries = append(queries, handoff.ArtifactQuery{IncludeInactive: true, Producer: map[string]string{slot: session}})
		}
	}
	for _, q := range queries {
		if err := content.EachArtifact(ctx, hub, q,
			func(a handoff.Artifact) error { add(a.Producer.Thread); return ctx.Err() }); err != nil {
			return nil, err
		}
	}
	page, err := hub.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true, IDPrefix: session})
	if err != nil {
		return nil, err
	}
	for _, s := range page.Sessions {
		if session == "" || s.ID == session {
			add(s.Producer.Thread)
		}
	}
	work, err := hub.WorkIn(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, w := range work {
		if w.SessionID != "" || w.RunID != "" {
			add(w.Thread)
		}
	}
	list := make([]string, 0, len(uris))
	for uri := range uris {
		list = append(list, uri)
	}
	slices.Sort(list)
	return list, nil
}
