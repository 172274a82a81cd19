package web

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

// rest is how many times as long as reading took nothing is read again.
const rest = 10

// growth is the same if the log has grown, which a page should show within a second.
const growth = 3

// A latest is something that can take long to read, such as threads or the
// folders of 10,000 sessions. It is read while pages show what it was before.
type latest[T any] struct {
	mu      sync.Mutex
	value   T
	err     error
	known   bool
	next    time.Time     // when it is read again
	at      handoff.Seq   // the newest record when it was read
	soon    time.Time     // when it is read again if the log has grown
	reading chan struct{} // closed when it has been read; nil if it is not being read
}

// reading is how a latest is read.
type reading[T any] struct {
	read  func(context.Context) (T, error)
	wait  time.Duration // so long a page waits for the first value
	least time.Duration // so long a value is not read again
	at    handoff.Seq   // the newest record, if the value depends on the log: it is read again when that has grown
}

// get returns what was last read; known is false if that has not happened yet. It
// starts to read again when it is time to. Open pages are notified when the value has
// changed.
func (l *latest[T]) get(s *Server, r reading[T]) (value T, known bool, err error) {
	l.mu.Lock()
	first := !l.known
	now := s.o.Now()
	if l.reading == nil && (!now.Before(l.next) || r.at > l.at && !now.Before(l.soon)) {
		l.reading = make(chan struct{})
		go l.refresh(s, r)
	}
	reading := l.reading
	l.mu.Unlock()
	if first {
		select {
		case <-reading:
		case <-time.After(r.wait):
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.known, l.err
}

func (l *latest[T]) refresh(s *Server, r reading[T]) {
	start := s.o.Now()
	value, err := r.safely(s.events.ctx)
	end := s.o.Now()
	l.mu.Lock()
	changed := !l.known || !reflect.DeepEqual(value, l.value)
	l.value, l.err, l.known = value, err, true
	l.next, l.soon, l.at = end.Add(max(r.least, rest*end.Sub(start))), end.Add(growth*end.Sub(start)), r.at
	close(l.reading)
	l.reading = nil
	l.mu.Unlock()
	if changed {
		s.events.announce(0)
	}
}

// safely reads. No request recovers from a defect of what is read.
func (r reading[T]) safely(ctx context.Context) (value T, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			err = fmt.Errorf("internal error: %v", bug)
		}
	}()
	return r.read(ctx)
}

// maxKept is how many values a keyed has.
const maxKept = 64

// A keyed is a latest for each of some keys.
type keyed[T any] struct {
	mu   sync.Mutex
	kept map[string]*latest[T]
}

func (k *keyed[T]) of(key string) *latest[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.kept[key]
	if l == nil {
		if k.kept == nil {
			k.kept = map[string]*latest[T]{}
		}
		for other := range k.kept {
			if len(k.kept) < maxKept {
				break
			}
			delete(k.kept, other)
		}
		l = new(latest[T])
		k.kept[key] = l
	}
	return l
}
