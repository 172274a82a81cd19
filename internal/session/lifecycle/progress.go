package lifecycle

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
)

// A Progress is what was done in a session so far.
type Progress struct {
	Newest        *handoff.Artifact // nil for none
	ActiveAt      time.Time         // of its newest artifact, zero for none
	Expectations  []session.Expected
	Threads       []string // URIs of the threads of those who opened it, published in it or worked in it
	Conversations []session.Thread
}

// Progress returns what was done in a session so far. newest is its newest artifact, nil if that is
// not known.
func (ss *Sessions) Progress(ctx context.Context, s handoff.Session, newest *handoff.Artifact) (p Progress,
	err error) {
	q := publishedIn(s)
	q.Limit = 1
	if len(s.Expected) > 0 {
		q.Limit = 0 // each artifact may be an expected one
	} else if newest != nil {
		return ss.progress(ctx, s, []handoff.Artifact{*newest})
	}
	page, err := ss.hub.Artifacts(ctx, q)
	if err != nil {
		return p, err
	}
	return ss.progress(ctx, s, page.Artifacts)
}

// progress is Progress for a session whose artifacts were read, the newest first.
func (ss *Sessions) progress(ctx context.Context, s handoff.Session, artifacts []handoff.Artifact) (p Progress,
	err error) {
	if len(artifacts) > 0 {
		p.Newest, p.ActiveAt = &artifacts[0], artifacts[0].CreatedAt
	}
	published, err := ss.hub.Productions(ctx, handoff.ProductionQuery{In: s.ID})
	if err != nil {
		return p, err
	}
	add := func(uri string) {
		if uri != "" && !slices.Contains(p.Threads, uri) {
			p.Threads = append(p.Threads, uri)
		}
	}
	add(s.Producer.Thread)
	order.Sort(published, func(a, b handoff.Production) int { return strings.Compare(a.Thread, b.Thread) })
	for _, p := range published {
		add(p.Thread)
	}
	work, err := ss.hub.WorkIn(ctx, s.ID)
	if err != nil {
		return p, err
	}
	p.Conversations = conversations(work)
	for _, c := range p.Conversations {
		add(c.Thread)
	}
	p.Expectations = Expectations(s, artifacts)
	return p, nil
}
