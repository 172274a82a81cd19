package thread

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
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

// A missing is the reason of a NotFoundError.
type missing struct {
	roots   []string
	similar []string // URIs of threads with a similar ID
}

func (m *missing) Error() string { return "no such thread in " + strings.Join(m.roots, ", ") }

// NotFoundError returns the error for a thread that is in none of the roots. env
// is the environment variable that sets them. seen are IDs of threads that are
// there; the hint names similar ones.
func NotFoundError(provider, id string, roots []string, env string, seen []string) *handoff.Error {
	const most = 3
	m := &missing{roots: roots}
	for _, other := range seen {
		uri := URI{Provider: provider, Thread: other}.String()
		if len(m.similar) < most && similar(other, id) && !slices.Contains(m.similar, uri) {
			m.similar = append(m.similar, uri)
		}
	}
	return handoff.E("thread", provider+"/"+id, handoff.NotFound, m,
		handoff.Advice(withSimilar(m.similar, searchHint(env))))
}

// withSimilar returns a hint that first names threads with a similar ID.
func withSimilar(uris []string, hint string) string {
	if len(uris) == 0 {
		return hint
	}
	return "threads with a similar ID: " + strings.Join(uris, ", ") + "; " + hint
}

// similarTo returns the URIs of threads with an ID similar to that of u, which no
// provider has.
func (s *Set) similarTo(ctx context.Context, u URI) (uris []string) {
	for _, d := range s.drivers {
		u.Provider = d.Name
		_, err := s.find(ctx, u)
		uris = append(uris, similarIn(err)...)
	}
	return uris
}

// similarIn returns the URIs that a NotFoundError names.
func similarIn(err error) []string {
	if m := new(missing); errors.As(err, &m) {
		return m.similar
	}
	return nil
}

// similar reports whether one ID is the beginning of the other, or has a few other
// characters. It is called for every thread of a tool.
func similar(a, b string) bool {
	const (
		short = 4 // characters of a beginning
		few   = 2
	)
	a, b = strings.ToLower(a), strings.ToLower(b)
	if min(len(a), len(b)) < short {
		return false
	}
	if len(a) != len(b) {
		return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
	}
	different := 0
	for i := range len(a) {
		if a[i] != b[i] {
			different++
		}
	}
	return different <= few
}
