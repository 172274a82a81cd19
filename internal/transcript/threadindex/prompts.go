package threadindex

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// A Prompt is a message of the user in a thread, or what a subagent was sent.
type Prompt struct {
	Place
	Thread string // URI of the thread or subagent
	Text   string
}

// EachPrompt calls use with the prompts of the threads and subagents whose URIs
// are in want and whose transcripts were written since a time, without copies in forks.
// Those of one thread are in order, but threads are in none, and use is called by one
// goroutine at a time. Transcripts that can't be read are warnings. The error is one of
// use or of ctx.
func (f *Files) EachPrompt(ctx context.Context, since time.Time, want map[string]bool,
	use func(Prompt) error) (warnings []string, err error) {
	all, err := f.find(ctx, nil)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(newestFirst(all.stored), func(s *thread.Stored) bool { return s.Modified.Before(since) })
	seen := map[string]bool{} // by URI
	var mu sync.Mutex
	var failed error // of use
	read := func(i transcript.Item) {
		err := i.Read(ctx, thread.Texts, func(m thread.Message) error {
			if m.Role != thread.User || m.Inherited {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				uri := i.URI
				uri.From, uri.To = m.N, m.N
				failed = use(Prompt{Place{uri, m.Time}, i.URI.String(), m.Text})
			}
			return failed
		})
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil && ctx.Err() == nil {
			all.warnings = append(all.warnings, err.Error())
		}
	}
	for part := range slices.Chunk(found, maxParallel) {
		var threads []transcript.Item
		err = eachOpened(ctx, part, func(o opened) (bool, error) {
			if o.err != nil && !errors.Is(o.err, handoff.NotFound) {
				all.warnings = append(all.warnings, o.err.Error())
			}
			for _, t := range o.threads {
				i := newItem(t)
				if uri := i.URI.String(); want[uri] && !seen[uri] {
					seen[uri] = true
					threads = append(threads, i)
				}
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		thread.Parallel(len(threads), func(n int) { read(threads[n]) })
		if failed != nil {
			break
		}
	}
	slices.Sort(all.warnings)
	return all.warnings, errors.Join(failed, ctx.Err())
}

// EachPrompt is Files.EachPrompt: the index has no texts.
func (x *Index) EachPrompt(ctx context.Context, since time.Time, want map[string]bool,
	use func(Prompt) error) (warnings []string, err error) {
	return x.files.EachPrompt(ctx, since, want, use)
}
