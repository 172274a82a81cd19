package keep

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
	"github.com/agent-handoff/handoff/thread"
)

// Options select how transcripts are kept.
type Options struct {
	Redact       bool // replace secrets in the copy
	AllowSecrets bool // keep a transcript as it is although it has secrets
	DryRun       bool
}

// A Status is what was done with a transcript.
type Status string

// The statuses.
const (
	Kept        Status = "kept"        // or would be
	Unchanged   Status = "unchanged"   // it was kept before
	Refused     Status = "refused"     // it has secrets
	Missing     Status = "missing"     // the tool has no transcript, or it can't be read
	Unsupported Status = "unsupported" // the tool keeps conversations together
)

// A Result is what was done with one transcript.
type Result struct {
	URI             string         `json:"uri"`
	Status          Status         `json:"status"`
	Reason          string         `json:"reason,omitempty"`
	RecordID        string         `json:"recordId,omitempty"`
	Digest          handoff.Digest `json:"digest,omitzero"`
	SizeBytes       int64          `json:"sizeBytes,omitempty"` // of the copy
	Files           int            `json:"files,omitempty"`
	TranscriptBytes int64          `json:"transcriptBytes,omitempty"` // of the files
	Redacted        int            `json:"redacted,omitempty"`        // how many secrets are replaced
	Secrets         int            `json:"secrets,omitempty"`         // how many are not
	Findings        []Finding      `json:"findings,omitempty"`

	Err error `json:"-"` // of a transcript that is missing or unsupported
}

// A Keeper keeps transcripts of one workspace.
type Keeper struct {
	Hub    *handoff.Hub // whose records name the caller
	Bodies handoff.Bodies
	Set    *thread.Set
}

// KeepAll keeps copies of conversations. It ends at the first error, which for the
// first named of the URIs includes that there is no copy. Kinds: those of Keep, and
// of Result.Err.
func (k Keeper) KeepAll(ctx context.Context, uris []string, named int, o Options) (done []Result, err error) {
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

// Keep keeps a copy of a conversation with its subagents, unless the newest copy is
// equal. A Result has the status Missing, Refused or Unsupported if there is none.
// Kinds: Invalid (the URI), those of Bodies.Put and Log.Append.
func (k Keeper) Keep(ctx context.Context, u thread.URI, o Options) (Result, error) {
	r := Result{URI: u.Main().String()}
	v, err := k.Set.Open(ctx, u.Main())
	var p *Plan
	if err == nil {
		r.URI = v.URI.Main().String()
		p, err = New(ctx, k.Set, v, o.Redact)
	}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.Is(err, handoff.Unsupported):
		r.Status, r.Reason, r.Err = Unsupported, err.Error(), err
		return r, nil
	case errors.Is(err, handoff.NotFound), errors.Is(err, handoff.Unavailable):
		r.Status, r.Reason, r.Err = Missing, err.Error(), err
		return r, nil
	case err != nil:
		return r, err
	}
	defer p.Close()
	r.Status, r.Files, r.TranscriptBytes, r.Findings = Kept, p.Files(), p.Size, p.Findings
	if r.Secrets = p.Secrets; o.Redact {
		r.Redacted, r.Secrets = p.Secrets, 0
	}
	if r.Secrets > 0 && !o.AllowSecrets {
		r.Status, r.Reason = Refused, "it contains what looks like a secret"
		return r, nil
	}
	if o.DryRun {
		r.SizeBytes, err = p.measure(ctx)
		return r, err
	}
	return r, k.store(ctx, p, &r)
}

// store stores the body of a copy and records it.
func (k Keeper) store(ctx context.Context, p *Plan, r *Result) error {
	from, to := io.Pipe()
	sum := &counter{to: to}
	go func() { to.CloseWithError(p.Write(ctx, sum)) }()
	d, err := k.Bodies.Put(ctx, from)
	from.CloseWithError(err)
	if err != nil {
		return err
	}
	if r.Digest, r.SizeBytes = d, sum.n; p.Size > maxSize(sum.n) {
		return &handoff.Error{Op: "keep thread", Name: r.URI, Kind: handoff.Unsupported, Err: errors.New("its content is repeated so often that the copy could not be opened")}
	}
	known, err := k.Hub.KeptThreads(ctx, r.URI)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(known, func(c handoff.KeptThread) bool { return c.Digest == d }); i >= 0 {
		r.Status, r.RecordID = Unchanged, known[i].RecordID
		return nil
	}
	record, _, err := k.Hub.Record(ctx, &handoff.ThreadKept{Thread: r.URI, Digest: d, SizeBytes: r.SizeBytes, Files: r.Files, TranscriptBytes: r.TranscriptBytes,
		ModifiedAt: p.Modified.UTC(), Redacted: r.Redacted, Secrets: r.Secrets})
	r.RecordID = record.ID
	return err
}

// measure returns the size of the copy.
func (p *Plan) measure(ctx context.Context) (int64, error) {
	c := &counter{to: io.Discard}
	err := p.Write(ctx, c)
	return c.n, err
}

// Referenced returns the URIs of the conversations that artifacts, sessions and work in
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
		if err := content.EachArtifact(ctx, hub, q, func(a handoff.Artifact) error { add(a.Producer.Thread); return ctx.Err() }); err != nil {
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
