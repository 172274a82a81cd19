package work

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/trace/otlp"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// maxNested is how many sessions a run may be inside.
const maxNested = 100

// OTLP returns what was done in a session with the runs in it, or, if ref is "", in all that
// started since a time, as a request of OpenTelemetry's protocol in JSON. It has no contents.
// What can't be read of a thread is a warning.
//
// Kinds: NotFound, Invalid (the time), and those of reading the index.
func (u Units) OTLP(ctx context.Context, ref, since string) (request []byte, warnings []string, err error) {
	ids, err := u.withRuns(ctx, ref, since)
	if err != nil {
		return nil, nil, err
	}
	var list []otlp.Session
	for _, id := range ids {
		s, artifacts, err := u.known.Read(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		r, err := u.OfSession(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		of := otlp.Session{Session: s, Root: u.rootOf(ctx, s.ID), Tasks: r.Tasks, Artifacts: artifacts,
			Threads: map[string]otlp.Thread{}}
		for _, t := range r.Tasks {
			if t.Thread == "" {
				continue
			}
			did, err := u.did(ctx, t.Thread)
			if err != nil {
				warnings = append(warnings, err.Error())
			}
			of.Threads[t.Thread] = did
		}
		list = append(list, of)
	}
	return otlp.Encode(list), warnings, ctx.Err()
}

// SendOTLP sends what OTLP returns to the receiver at a URL. Kinds: those of OTLP, Invalid (the
// URL), Unavailable (the receiver did not accept it in full).
func (u Units) SendOTLP(ctx context.Context, url, ref, since string) (warnings []string, err error) {
	if err := u.c.Hub.Closed(); err != nil {
		return nil, err
	}
	if err := otlp.CheckURL(url); err != nil {
		return nil, err
	}
	request, warnings, err := u.OTLP(ctx, ref, since)
	if err == nil {
		err = otlp.Send(ctx, url, request)
	}
	return warnings, err
}

// withRuns returns the IDs of a session and of the runs in it, at all levels, or of all
// sessions and runs since a time.
func (u Units) withRuns(ctx context.Context, ref, since string) (ids []string, err error) {
	if err := u.c.Hub.Closed(); err != nil {
		return nil, err
	}
	if ref == "" {
		q := handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true}
		if q.Since, _, err = config.ParsePeriod(since, "", u.c.Now()); err != nil {
			return nil, err
		}
		page, err := u.c.Hub.Sessions(ctx, q)
		for _, s := range page.Sessions {
			ids = append(ids, s.ID)
		}
		return ids, err
	}
	id, err := sessions.New(u.c, u.known).Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	tree, err := u.known.Tree(ctx, handoff.Session{ID: id})
	for _, s := range tree {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// rootOf returns the ID of the outermost session that a session or run is in.
func (u Units) rootOf(ctx context.Context, id string) string {
	for range maxNested {
		s, err := u.known.Session(ctx, id)
		if err != nil || s.Parent == "" {
			break
		}
		id = s.Parent
	}
	return id
}

// did returns what a thread did.
func (u Units) did(ctx context.Context, name string) (did otlp.Thread, err error) {
	uri, err := thread.ParseURI(name)
	if err != nil {
		return did, err
	}
	v, err := u.all.Set.Open(ctx, uri)
	if err != nil {
		return did, err
	}
	t := v.Thread
	if v.Agent != nil {
		if t = v.Agent.Thread; t == nil {
			return did, nil // its transcript is missing
		}
		by := thread.URI{Provider: uri.Provider, Thread: uri.Thread}
		if t.Parent != uri.Thread {
			by.Agent = t.Parent
		}
		did.By = by.String()
	}
	first := 0 // of the calls that the next message ends
	end := func(at time.Time) {
		for ; first < len(did.Calls); first++ {
			did.Calls[first].End = at
		}
	}
	err = t.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.Inherited {
			return nil
		}
		end(m.Time)
		for _, c := range m.Tools {
			if c.Time.IsZero() {
				c.Time = m.Time
			}
			did.Calls = append(did.Calls, otlp.Call{ID: c.ID, Name: c.Name, Failed: c.Failed, Start: c.Time})
		}
		return nil
	})
	end(t.Last)
	did.Started, did.Requests = t.Started, t.Requests
	return did, err
}
