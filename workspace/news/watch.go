package news

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/store"
)

// refresh is how old what needs a person may be in a watch, if neither the log nor the
// state of a thread changed since: processes end and sessions become silent without a record.
const refresh = 10 * time.Second

// Watch yields the status at once and then after each pause, until ctx ends, whose error is
// then the last. It goes on when a log on another machine can be reached again. What needs a
// person is found again if the log has grown or the state of a thread changed, otherwise every
// 10 seconds.
func (s Source) Watch(ctx context.Context, pause time.Duration) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		var l watchState
		for {
			status, err := s.look(ctx, &l)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				if err = s.outlast(ctx, err); err == nil {
					continue
				}
				yield(Status{}, err)
				return
			}
			if !yield(status, nil) {
				return
			}
			if over := rest(ctx, pause); over && ctx.Err() == nil {
				yield(Status{}, context.DeadlineExceeded)
				return
			}
		}
	}
}

// WatchNeeds yields each thing that needs a person from now on, when it arises, until ctx ends,
// whose error is then the last.
func (s Source) WatchNeeds(ctx context.Context, pause time.Duration) iter.Seq2[Need, error] {
	return func(yield func(Need, error) bool) {
		var known map[string]bool
		for status, err := range s.Watch(ctx, pause) {
			if err != nil {
				yield(Need{}, err)
				return
			}
			now := map[string]bool{}
			for _, n := range status.Needs {
				key := n.key()
				if now[key] = true; known != nil && !known[key] && !yield(n, nil) {
					return
				}
			}
			known = now
		}
	}
}

// A watchState is what a watch has seen when it last found what needs a person.
type watchState struct {
	needs   []Need
	isCut   bool
	log     logState
	threads map[string]threadState
	at      time.Time
}

// A logState is what grows when records are added to a log or to its queue.
type logState struct {
	id              string
	newest          handoff.Seq
	queued, refused int
}

func stateOf(l store.LogStatus) logState {
	return logState{l.ID, l.LastSeq, len(l.Queued), len(l.Refused)}
}

// A threadState is that of a running thread.
type threadState struct{ status, waiting string }

func threadsOf(list []trace.RunningThread) map[string]threadState {
	states := map[string]threadState{}
	for _, t := range list {
		states[t.URI] = threadState{string(t.State.Status), t.State.Waiting}
	}
	return states
}

// look returns the status. What runs is found each time.
func (s Source) look(ctx context.Context, l *watchState) (Status, error) {
	if err := s.c.Anonymous.Closed(); err != nil {
		return Status{}, err
	}
	log, err := s.o.Store.Status(ctx)
	if err != nil {
		return Status{}, err
	}
	if at := s.c.Now(); stateOf(log) == l.log && at.Sub(l.at).Abs() < refresh {
		now, err := s.Now(ctx)
		if err != nil || maps.Equal(threadsOf(now.Threads), l.threads) {
			return Status{l.needs, l.isCut, now}, err
		}
	}
	*l = watchState{log: stateOf(log), at: s.c.Now()}
	status, err := s.Status(ctx)
	if err != nil {
		*l = watchState{}
	}
	l.needs, l.isCut, l.threads = status.Needs, status.IsCut, threadsOf(status.Threads)
	return status, err
}

// rest waits for a pause, and reports whether the time for waiting is over.
func rest(ctx context.Context, pause time.Duration) (over bool) {
	waiting, cancel := handoff.Waiting(ctx)
	defer cancel()
	select {
	case <-waiting.Done():
		return true
	case <-time.After(pause):
		return false
	}
}

// outlast returns nil if a watch goes on after an error.
func (s Source) outlast(ctx context.Context, err error) error {
	outlaster, ok := s.c.Log.(handoff.Outlaster)
	if !ok || ctx.Err() != nil || s.c.Anonymous.Closed() != nil {
		return err
	}
	waiting, cancel := handoff.Waiting(ctx)
	defer cancel()
	return outlaster.Outlast(waiting, err)
}
