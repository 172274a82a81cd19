package lifecycle

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// A Progress is what was done in a session so far.
type Progress struct {
	Artifacts     []handoff.Artifact // newest first
	ActiveAt      time.Time          // of its newest artifact, zero for none
	Expectations  []session.Expected
	Threads       []string // URIs of the threads of those who opened it, published in it or worked in it
	Conversations []session.Thread
}

// Progress returns what was done in a session so far.
func (ss *Sessions) Progress(ctx context.Context, s handoff.Session) (p Progress, err error) {
	if p.Artifacts, err = read(ctx, ss.hub, s); err != nil {
		return p, err
	}
	add := func(uri string) {
		if uri != "" && !slices.Contains(p.Threads, uri) {
			p.Threads = append(p.Threads, uri)
		}
	}
	add(s.Producer.Thread)
	for _, a := range p.Artifacts {
		add(a.Producer.Thread)
		if a.CreatedAt.After(p.ActiveAt) {
			p.ActiveAt = a.CreatedAt
		}
	}
	work, err := ss.hub.WorkIn(ctx, s.ID)
	if err != nil {
		return p, err
	}
	p.Conversations = conversations(work)
	for _, c := range p.Conversations {
		add(c.Thread)
	}
	p.Expectations = Expectations(s, p.Artifacts)
	return p, nil
}
