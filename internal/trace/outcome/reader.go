package outcome

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// maxRead is how many threads a Reader reads: the records that name them may be forged.
const maxRead = 50

// Reader returns the Thread of an Observer: it reads the first 50 threads that it is
// asked for, each once, with the states that set concludes.
func Reader(ctx context.Context, set *thread.Set) func(string) (thread.State, time.Time, bool) {
	type reading struct {
		state thread.State
		seen  time.Time
		ok    bool
	}
	known := map[string]reading{}
	return func(uri string) (thread.State, time.Time, bool) {
		r, ok := known[uri]
		if !ok && len(known) < maxRead {
			r.state, r.seen, r.ok = read(ctx, set, uri)
			known[uri] = r
		}
		return r.state, r.seen, r.ok
	}
}

func read(ctx context.Context, set *thread.Set, uri string) (s thread.State, seen time.Time, ok bool) {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return s, seen, false
	}
	v, err := set.Open(ctx, u)
	if err != nil || v.LoadAgents(ctx) != nil {
		return s, seen, false
	}
	if v.Agent != nil {
		return v.Agent.State, v.Agent.Updated, v.Agent.State.Status != thread.NotFound
	}
	if !v.Thread.Loaded() && v.Thread.Load(ctx) != nil {
		return s, seen, false
	}
	return v.Thread.State, v.Thread.Seen(), true
}
