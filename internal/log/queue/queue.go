// Package queue stores records on this machine while the engine of their log can't
// be reached, and sends them in order when it can.
//
// A queue is a built-in log in the runtime directory and a file with its state:
//
//	<directory>/
//	  records-1/    a log of the records, in the order in which they were queued
//	  state.json    how many of them were sent, and which ones the engine refused
//	  send.lock     locked while a process sends
//	  state.lock    locked while the state is changed or a record is added
//
// A queued record has no sequence number: it gets one from the engine. Records keep
// their IDs. Before the first is sent, the engine's records since the queue was
// started are read, so that one whose acknowledgement was lost is not sent again.
package queue

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/storage"
)

// Options are where a queue is and what it reports to.
type Options struct {
	Runtime  string       // the runtime directory
	Location string       // of the log, without user name, password and settings: logs with the same one share a queue
	Rand     io.Reader    // for the IDs of the queue's own logs
	Warn     func(string) // called when the engine can't be reached; may be nil

	// Known returns the ID of the log and the newest record of it that this machine has
	// read, where the queue does not state it; may be nil.
	Known func() (log string, newest handoff.Seq)
}

// A Log is a handoff.Log that queues the records that its engine can't take now.
// Append then returns 0. While the engine can't be reached, Read and Newest answer
// that there is nothing new.
type Log struct {
	engine Engine
	bodies *remote.Bodies // nil if they are stored elsewhere
	o      Options
	dir    string

	offline remote.Freshness // the engine could not be reached a short time ago

	mu       sync.Mutex
	warned   bool
	deferred map[string]bool // digests of bodies that are only on this machine
	known    handoff.Seq     // the newest record in the state, -1 before it was read
}

var (
	_ handoff.Log        = (*Log)(nil)
	_ handoff.Identifier = (*Log)(nil)
	_ handoff.Ender      = (*Log)(nil)
)

// An Engine is a log whose records and end can be asked for.
type Engine interface {
	handoff.Log
	handoff.Identifier
	handoff.Ender
}

// A Refresher is an engine that answers from what it read a short time ago.
type Refresher interface {
	// Refresh makes the next question ask the engine.
	Refresh()
}

// New returns a log over an engine. It creates nothing.
func New(engine Engine, o Options) *Log {
	return &Log{engine: engine, o: o, dir: directory(o.Runtime, o.Location), deferred: map[string]bool{}, known: -1}
}

// retryAfter is how long a process does not ask an engine again that it could not
// reach.
const retryAfter = 10 * time.Second

// reached reports whether this machine has reached the engine before, or has queued
// records for it.
func (l *Log) reached() bool {
	s, err := l.load()
	return err == nil && (s.Log != "" || s.pending())
}

// Exists returns the error of a log that does not exist and was never reached, as far as
// the engine can tell without asking another machine.
func (l *Log) Exists(ctx context.Context) error {
	if e, ok := l.engine.(interface{ Exists(context.Context) error }); ok && !l.reached() {
		return e.Exists(ctx)
	}
	return nil
}

// IsUnavailable reports whether an error means that the engine can't be reached. A log
// that does not exist was removed if this machine has reached it before; otherwise its
// location is wrong, and nothing must be queued for it.
func (l *Log) IsUnavailable(err error) bool {
	var missing *remote.MissingError
	return errors.Is(err, handoff.Unavailable) || (errors.As(err, &missing) && l.reached())
}

// removed returns the error of a log that does not exist with kind Unavailable, if this
// machine has reached it before.
func (l *Log) removed(err error) error {
	var e *handoff.Error
	if !errors.As(err, &e) || e.Kind == handoff.Unavailable || !l.IsUnavailable(err) {
		return err
	}
	return handoff.E(e.Op, e.Name, handoff.Unavailable, e.Err, e.Hint)
}

// unavailable is IsUnavailable, and notes it.
func (l *Log) unavailable(err error) bool {
	if !l.IsUnavailable(err) {
		return false
	}
	l.offline.Set(retryAfter)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.warned && l.o.Warn != nil {
		l.o.Warn("the log can't be reached, so only what this machine knows is shown, " +
			"and what is recorded is queued: " + err.Error())
	}
	l.warned = true
	return true
}

// Offline reports whether the engine could not be reached a short time ago. What the
// index knows then can't be compared with the log.
func (l *Log) Offline() bool { return l.offline.Is() }

// errOffline is the error of an engine that could not be reached a short time ago.
var errOffline = handoff.E("read log", "", handoff.Unavailable, errors.New("it could not be reached a short time ago"),
	handoff.Advice("try again"))

// ask calls the engine, unless it could not be reached a short time ago.
func ask[T any](l *Log, question func() (T, error)) (T, error) {
	if l.offline.Is() {
		var none T
		return none, errOffline
	}
	return question()
}

// Refresh makes the next question ask the engine, unless it could not be reached a
// short time ago.
func (l *Log) Refresh() {
	if r, ok := l.engine.(Refresher); ok {
		r.Refresh()
	}
}

// ID implements handoff.Identifier. Offline it is the ID that this machine knows.
func (l *Log) ID(ctx context.Context) (string, error) {
	id, err := ask(l, func() (string, error) { return l.engine.ID(ctx) })
	if !l.unavailable(err) {
		return id, err
	}
	s, known := l.load()
	if known != nil || (s.Log == "" && !s.pending()) {
		return "", err
	}
	return s.Log, nil
}

// Newest implements handoff.Ender.
func (l *Log) Newest(ctx context.Context) (handoff.Seq, error) {
	newest, err := ask(l, func() (handoff.Seq, error) { return l.engine.Newest(ctx) })
	if !l.unavailable(err) {
		return newest, err
	}
	s, known := l.load()
	if known != nil || (s.Log == "" && !s.pending()) {
		return 0, err
	}
	return s.Newest, nil
}

// Read implements handoff.Log. Offline it yields nothing, or the error if there are
// records that only the engine has.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		var last handoff.Seq
		var err error = errOffline
		if !l.offline.Is() {
			err = nil
			for r, failed := range l.engine.Read(ctx, after) {
				if err = failed; err != nil {
					break
				}
				last = r.Seq
				if !yield(r, nil) {
					return
				}
			}
		}
		if !l.unavailable(err) {
			if err == nil {
				l.know(ctx, last)
				return
			}
			yield(handoff.Record{}, err)
			return
		}
		s, known := l.load()
		if known != nil || max(after, last) < s.Newest || (s.Log == "" && !s.pending()) {
			yield(handoff.Record{}, err)
		}
	}
}

// Wait implements handoff.Log. It waits for an engine that can't be reached.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	for {
		err := l.engine.Wait(ctx, after)
		if ctx.Err() != nil || !l.unavailable(err) {
			return err
		}
		if err := sleep(ctx, retryAfter/10); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Append implements handoff.Log. What is queued is sent first. It returns 0 if the
// record is queued, which is then on stable storage of this machine.
func (l *Log) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if _, err := r.JSON(); err != nil {
		return 0, err
	}
	s, err := l.load()
	if err != nil {
		return 0, err
	}
	if s.foreign {
		return l.engine.Append(ctx, r) // what a copied directory has queued is sent on request only
	}
	err = errOffline
	if !l.offline.Is() && !l.isDeferred(r) {
		if _, err = l.send(ctx, false); err == nil {
			var seq handoff.Seq
			if seq, err = l.engine.Append(ctx, r); err == nil || seq != 0 {
				if s.Log == "" { // it was never reached before
					l.know(ctx, seq)
				}
				return seq, err
			}
		}
	}
	if ctx.Err() != nil || !l.unavailable(err) {
		return 0, err
	}
	return 0, l.add(ctx, r, s.Newest)
}

// isDeferred reports whether the body of a record is only on this machine.
func (l *Log) isDeferred(r handoff.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(handoff.BodiesOf(r.Fact), func(d handoff.Digest) bool { return l.deferred[d.Value] })
}

// Bodies returns the body store of the log's records. A body that the engine can't
// take now is stored on this machine, and is sent before its record.
func (l *Log) Bodies(b handoff.Bodies) handoff.Bodies {
	remoteBodies, ok := b.(*remote.Bodies)
	if !ok {
		return b
	}
	l.bodies = remoteBodies
	return bodies{remoteBodies, l}
}

type bodies struct {
	*remote.Bodies
	log *Log
}

// Put implements handoff.Bodies.
func (b bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	if !b.log.reached() { // a copy for a log that does not exist would be left behind
		if err := b.log.Exists(ctx); err != nil {
			return handoff.Digest{}, err
		}
	}
	d, err := b.Local.Put(ctx, r)
	if err != nil {
		return d, err
	}
	if _, err = ask(b.log, func() (struct{}, error) { return struct{}{}, b.Send(ctx, d) }); b.log.unavailable(err) {
		b.log.mu.Lock()
		b.log.deferred[d.Value] = true
		b.log.mu.Unlock()
		return d, nil
	}
	return d, err
}

// Has implements handoff.Bodies.
func (b bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	there, err := b.Bodies.Has(ctx, d)
	if b.log.unavailable(err) {
		return false, nil
	}
	return there, err
}

// A Status describes what is queued, and what is known of the log.
type Status struct {
	Queued  []storage.QueuedRecord // in their order
	Refused []storage.Refusal
	Foreign bool // the directory was copied from elsewhere: nothing is sent without a request
	Log     string
	Newest  handoff.Seq
}

// Status returns what is queued.
func (l *Log) Status(ctx context.Context) (Status, error) {
	s, err := l.load()
	if err != nil {
		return Status{}, err
	}
	status := Status{Refused: s.Refused, Foreign: s.foreign, Log: s.Log, Newest: s.Newest}
	list, err := l.pending(ctx, s, false)
	for _, r := range list {
		item := storage.QueuedRecord{ID: r.ID, Type: r.Type, CreatedAt: r.CreatedAt}
		if f, ok := r.Fact.(*handoff.ArtifactPublished); ok {
			item.Path = f.Path
		}
		status.Queued = append(status.Queued, item)
	}
	return status, err
}

// Queued returns the records that are queued and not refused, in their order.
func (l *Log) Queued(ctx context.Context) ([]handoff.Record, error) {
	s, err := l.load()
	if err != nil || s.foreign {
		return nil, err
	}
	return l.pending(ctx, s, false)
}
