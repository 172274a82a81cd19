package web

import (
	"context"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/workspace"
)

// folderWait is how long a page waits for the folders of sessions to be read for
// the first time. Reading 10,000 of them takes a second.
const folderWait = 50 * time.Millisecond

// rest is how many times as long as reading the folders took they are not read
// again.
const rest = 10

// folders are the folders of sessions that are not recorded. They are read while
// pages show what they were before.
type folders struct {
	mu    sync.Mutex
	found workspace.Adoptions
	err   error
	known bool
	next  time.Time     // when they are read again
	read  chan struct{} // closed when they have been read; nil if they are not being read
}

// unrecorded returns the folders as they were last read; known is false if they
// have not been read yet. announce is called when that changes.
func (f *folders) unrecorded(ctx context.Context, src Sessions, now func() time.Time, announce func()) (found workspace.Adoptions, known bool, err error) {
	f.mu.Lock()
	first := !f.known
	if f.read == nil && !now().Before(f.next) {
		f.read = make(chan struct{})
		go f.refresh(ctx, src, now, announce)
	}
	reading := f.read
	f.mu.Unlock()
	if first {
		select {
		case <-reading:
		case <-time.After(folderWait):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found, f.known, f.err
}

func (f *folders) refresh(ctx context.Context, src Sessions, now func() time.Time, announce func()) {
	start := now()
	found, err := src.UnrecordedSessions(ctx)
	f.mu.Lock()
	changed := !f.known || len(found.Sessions) != len(f.found.Sessions)
	f.found, f.err, f.known = found, err, true
	end := now()
	f.next = end.Add(rest * end.Sub(start))
	close(f.read)
	f.read = nil
	f.mu.Unlock()
	if changed {
		announce()
	}
}
