package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

// eventPause is how long records are collected before they are announced, so that
// a burst of publishes is one event.
const eventPause = 200 * time.Millisecond

// heartbeat is how often a stream without news is written to, to notice a
// browser that has gone.
const heartbeat = 20 * time.Second

// events are the streams that announce new records. They watch the log while
// someone listens.
type events struct {
	log  Log
	stop context.CancelFunc
	ctx  context.Context

	mu        sync.Mutex
	listeners map[chan handoff.Seq]bool
	cancel    context.CancelFunc // of the watch; nil if nothing is watched
}

func newEvents(log Log) *events {
	e := &events{log: log, listeners: map[chan handoff.Seq]bool{}}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

func (e *events) close() { e.stop() }

// listen returns a channel with the position of the newest record each time that
// it changes, until the returned function is called.
func (e *events) listen() (<-chan handoff.Seq, func()) {
	c := make(chan handoff.Seq, 1)
	after := "now"
	if at, err := e.log.Position(e.ctx, after); err == nil {
		after = fmt.Sprint(at) // whatever is recorded before the watch starts
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners[c] = true
	if e.cancel == nil {
		var ctx context.Context
		ctx, e.cancel = context.WithCancel(e.ctx)
		go e.watch(ctx, after)
	}
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.listeners, c); len(e.listeners) == 0 && e.cancel != nil {
			e.cancel()
			e.cancel = nil
		}
	}
}

// watch announces new records after a position until ctx ends. If the log can't be read
// it tries again: it may be repaired while the viewer runs.
func (e *events) watch(ctx context.Context, after string) {
	for ctx.Err() == nil {
		for r, err := range e.log.Facts(ctx, after) {
			if err == nil || r.Seq > 0 {
				e.announce(r.Seq)
			}
		}
		after = "now"
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			e.announce(0)
		}
	}
}

// announce passes on a position. A listener that has not taken the last one gets
// the newest only.
func (e *events) announce(seq handoff.Seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.listeners {
		select {
		case <-c:
		default:
		}
		c <- seq
	}
}

// ServeHTTP streams an event for each change of the log since the position in the query,
// which is that of a page.
func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	changes, done := e.listen()
	defer done()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if r.Method == http.MethodHead || send(w, out, ": connected\n\n") != nil {
		return
	}
	change := func(seq handoff.Seq) error {
		return send(w, out, fmt.Sprintf("event: change\nid: %d\ndata: %d\n\n", seq, seq))
	}
	if after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64); err == nil {
		if now, err := e.log.Position(r.Context(), "now"); err == nil && now > handoff.Seq(after) && change(now) != nil {
			return
		}
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-e.ctx.Done():
			return
		case <-beat.C:
			err = send(w, out, ": still here\n\n")
		case seq := <-changes:
			err = change(seq)
			time.Sleep(eventPause)
		}
		if err != nil {
			return
		}
	}
}

func send(w http.ResponseWriter, out *http.ResponseController, text string) error {
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	return out.Flush()
}
