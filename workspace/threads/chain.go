package threads

import (
	"context"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// maxChain is how many threads of a chain are followed.
const maxChain = 100

// Continued returns, by the threads that others of a list continue, those others.
func Continued(list []transcript.Item) map[thread.URI][]thread.URI {
	by := map[thread.URI][]thread.URI{}
	for _, i := range list {
		if i.Continues.Thread != "" {
			by[i.Continues] = append(by[i.Continues], i.URI)
		}
	}
	return by
}

// Chain returns which thread that of a view continues, and which continue it. What the first prompt of a
// thread states is a claim; one about a thread that this machine does not have is left out. Those that
// continue it are in the index of threads: without one, none is known.
//
// Kinds: those of reading the transcript and the index.
func (c Collection) Chain(ctx context.Context, v *thread.View) (chain thread.Chain, err error) {
	if err := c.o.Hub.Closed(); err != nil {
		return chain, err
	}
	if chain.Continues, err = c.continues(ctx, v.Thread); err != nil {
		return chain, err
	}
	_, err = c.o.Archive(false).Lookup(ctx, threadindex.Quick, func(l threadindex.Lookup) error {
		chain.ContinuedBy, err = l.ContinuedBy(ctx, v.URI)
		return err
	})
	return chain, err
}

// continues returns the main thread that t continues, the zero URI if it is none that this machine has.
func (c Collection) continues(ctx context.Context, t *thread.Thread) (thread.URI, error) {
	u, err := t.Continues(ctx)
	if err != nil || u.Thread == "" {
		return thread.URI{}, err
	}
	v, err := c.open(ctx, u)
	if err != nil {
		return thread.URI{}, ctx.Err()
	}
	return v.URI.Main(), nil
}

// Before returns the threads whose work the thread of a URI continues, the newest first: the one that it
// continues, the one that this one continues, and so on, at most maxChain; more reports whether there may be others.
//
// Kinds: those of reading the transcripts.
func (c Collection) Before(ctx context.Context, u thread.URI) (list []thread.URI, more bool, err error) {
	if err := c.o.Hub.Closed(); err != nil {
		return nil, false, err
	}
	seen := map[thread.URI]bool{u.Main(): true}
	for len(list) < maxChain {
		v, err := c.open(ctx, u.Main())
		if err != nil {
			return list, false, ctx.Err()
		}
		u, err = c.continues(ctx, v.Thread)
		if err != nil || u.Thread == "" || seen[u] {
			return list, false, err
		}
		seen[u], list = true, append(list, u)
	}
	return list, true, nil
}
