package web

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// rest is how many times as long as reading took nothing is read again, unless something is new
// and reading takes less than a page waits.
const rest = 10

// A latest is something that can take long to read, such as threads or the
// folders of 10,000 sessions. It is read while pages show what it was before.
type latest[T any] struct {
	mu      sync.Mutex
	value   T
	err     error
	known   bool
	took    time.Duration // to read it
	end     time.Time     // when it had been read
	of      int64         // the version that it was read of
	changes int64         // how often it changed
	reading chan struct{} // closed when it has been read; nil if it is not being read
}

// reading is how a latest is read.
type reading[T any] struct {
	read  func(context.Context) (T, error)
	wait  time.Duration // so long a page waits for the first value, and for a new version of one that takes less
	least time.Duration // so long a value is not read again
	of    int64         // grows with what the value depends on, such as the log: then it is read again
}

// get returns what was last read; known is false if that has not happened yet. It
// starts to read again when it is time to. Open pages are notified when the value has
// changed.
func (l *latest[T]) get(s *Server, r reading[T]) (value T, known bool, err error) {
	limit := time.After(r.wait)
	for range 2 { // a reading that started before the newest record is followed by another one
		reading := l.start(s, r)
		if reading == nil {
			break
		}
		select {
		case <-reading:
			continue
		case <-limit:
		}
		break
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.known, l.err
}

// start starts to read if it is time to. It returns what a page waits for, nil for nothing.
func (l *latest[T]) start(s *Server, r reading[T]) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	quick, isNew := l.took < r.wait, !l.known || r.of > l.of
	age := s.o.Now().Sub(l.end)
	if l.reading == nil && (isNew && quick || age >= rest*l.took && (isNew || age >= r.least)) {
		l.reading = make(chan struct{})
		go l.refresh(s, r)
	}
	if !l.known || isNew && quick {
		return l.reading
	}
	return nil
}

// version returns how often the value changed.
func (l *latest[T]) version() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

func (l *latest[T]) refresh(s *Server, r reading[T]) {
	start := s.o.Now()
	value, err := r.safely(s.events.ctx)
	end := s.o.Now()
	l.mu.Lock()
	changed := !l.known || !reflect.DeepEqual(value, l.value)
	awaited := l.known && r.of > l.of && end.Sub(start) < r.wait // pages ask for it because of what is new
	l.value, l.err, l.known = value, err, true
	l.took, l.end, l.of = end.Sub(start), end, r.of
	if changed {
		l.changes++
	}
	close(l.reading)
	l.reading = nil
	l.mu.Unlock()
	if changed && !awaited {
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
