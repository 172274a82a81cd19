package thread

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/nearest"
)

// orphan returns the view of a subagent whose parent's transcript was removed, nil
// if there is no such subagent. It is shown as a thread of its own.
func (s *Set) orphan(ctx context.Context, u URI) *View {
	if u.Provider == "" {
		for _, name := range s.Names() {
			u.Provider = name
			if v := s.orphan(ctx, u); v != nil {
				return v
			}
		}
		return nil
	}
	p, err := s.Provider(u.Provider)
	if err != nil {
		return nil
	}
	t, err := p.Thread(ctx, u.Agent)
	if err != nil || t.Parent != u.Thread {
		return nil
	}
	t.Warn("the transcript of its parent, thread %s, was removed", u.Thread)
	u.Thread, u.Agent = t.ID, ""
	return &View{URI: u, Thread: t, provider: p}
}

// suggest adds threads with a similar ID to the hint of an error. It searches the
// newest threads of some providers.
func (s *Set) suggest(ctx context.Context, err error, id string, providers ...string) error {
	const (
		most   = 3
		newest = 64
	)
	var near []string
	for _, name := range providers {
		p, failed := s.Provider(name)
		if failed != nil {
			continue
		}
		n := 0
		for t, failed := range p.Threads(ctx) {
			if n++; n > newest || len(near) == most {
				break
			}
			if failed == nil && similar(t.ID, id) {
				near = append(near, t.URI().String())
			}
		}
	}
	var known *handoff.Error
	if near == nil || !errors.As(err, &known) {
		return err
	}
	with := *known
	with.Hint = handoff.Advice("threads with a similar ID: " + strings.Join(near, ", ") + "; " + known.Hint.String())
	return &with
}

// similar reports whether one ID is the beginning of the other, or differs from it
// in a few characters.
func similar(a, b string) bool {
	const (
		short = 4 // characters of a beginning
		few   = 2
	)
	a, b = strings.ToLower(a), strings.ToLower(b)
	if min(len(a), len(b)) < short {
		return false
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || nearest.Distance(a, b) <= few
}
