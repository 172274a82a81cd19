// Package natslog keeps a log in a stream of NATS JetStream.
//
//	stream HANDOFF_<workspace>
//	  handoff.<workspace>.<type>.<channel>.<id>   a record
//	stream OBJ_handoff-<workspace>                the bodies, an object store
//
// The sequence number of a message in the stream is that of the record. A record is
// published on a subject that ends in its ID, on the condition that the subject has
// no message, so a record that is sent again is never stored twice. The stream
// refuses to delete messages, and it refuses new ones when it is full.
//
// The stream republishes each message that it has stored, without its content, to
// handoff-new.<workspace>.>. Such a message wakes a waiting reader, which then asks the
// stream: no reader depends on getting it.
package natslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options are where a log is and how it is used.
type Options struct {
	Servers []string // URLs of servers of one cluster
	Name    string   // of the workspace: letters, digits, dash and underscore

	Insecure bool          // allow connections without TLS to other machines
	Connect  []nats.Option // credentials
	System   []nats.Option // credentials of the system account, to ask servers for settings; nil without

	// How the streams are created: Replicas is by default 3 in a cluster, otherwise
	// 1; a size of 0 is no limit. They do not change a stream that exists.
	Replicas               int
	Memory                 bool // do not store anything on disk
	MaxBytes, MaxBodyBytes int64

	Runtime string        // the runtime directory
	Poll    time.Duration // how often Wait asks when it gets no message about a new record
	Timeout time.Duration // how long an operation is tried; default 30 seconds
	Rand    io.Reader     // for the ID of the log, and for names

	Warn func(string) // called when a log is created that may lose records; may be nil
}

// How long an operation, and one request of it, is tried.
const (
	defaultTimeout = 30 * time.Second
	requestTimeout = 5 * time.Second
)

// A Log is a handoff.Log in JetStream. No connection is opened before it is first
// used.
type Log struct {
	o     Options
	local *filelog.Bodies
	batch *remote.Writer

	mu      sync.Mutex
	nc      *nats.Conn
	js      jetstream.JetStream
	checked map[string]bool // streams that exist and have the necessary settings
	denied  error           // what the server has reported about permissions since the last request
	lost    chan struct{}   // closed when the connection is lost, which is then reopened
	back    chan struct{}   // closed when it was reopened

	known handoff.Seq   // the newest record that was stored or found
	woken chan struct{} // closed by the next message about a new record
	hints *nats.Subscription
}

var (
	_ handoff.Log        = (*Log)(nil)
	_ handoff.Identifier = (*Log)(nil)
	_ handoff.Ender      = (*Log)(nil)
	_ handoff.LogChecker = (*Log)(nil)
	_ io.Closer          = (*Log)(nil)

	_ handoff.BatchAppender = (*Log)(nil)
)

// Open returns the log of a workspace.
func Open(o Options) *Log {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	l := &Log{o: o, local: filelog.OpenCopies(o.Runtime, o.Rand), checked: map[string]bool{}, lost: make(chan struct{}),
		back: make(chan struct{}), woken: make(chan struct{})}
	l.batch = remote.NewWriter(l.writeBatch)
	return l
}

// Bodies returns the bodies of the log. Copies of them are in the runtime directory:
// it is a handoff.BodyFetcher.
func (l *Log) Bodies() handoff.Bodies { return remote.NewBodies(l.local, bodies{l}) }

// Close closes the connection.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nc != nil {
		l.nc.Close()
		l.nc = nil
	}
	return nil
}

// ID implements handoff.Identifier.
func (l *Log) ID(ctx context.Context) (string, error) {
	info, err := l.info(ctx)
	if err != nil || info == nil || info.State.LastSeq == 0 {
		return "", err
	}
	if id := info.Config.Metadata[idKey]; id != "" {
		return id, nil
	}
	return fmt.Sprintf("%016x", info.Created.UnixNano()), nil // created by an administrator
}

// Newest implements handoff.Ender.
func (l *Log) Newest(ctx context.Context) (handoff.Seq, error) {
	info, err := l.info(ctx)
	if err != nil || info == nil {
		return 0, err
	}
	return handoff.Seq(info.State.LastSeq), nil
}

// info returns the state of the stream, nil if it does not exist. It is never older
// than what this process has stored or found. Kinds: Unavailable, Unsupported (the
// stream has other settings), Corrupt (it stays older: a leader that was just elected
// may be older for a moment).
func (l *Log) info(ctx context.Context) (info *jetstream.StreamInfo, err error) {
	var behind error
	err = l.retry(ctx, "read log", func(ctx context.Context, js jetstream.JetStream) error {
		known := l.newestKnown()
		s, err := js.Stream(ctx, l.stream())
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if info = nil; known > 0 {
				return l.failure("read log", handoff.Corrupt,
					fmt.Errorf("the stream was deleted; it had %d records", known), "restore the stream from a backup")
			}
			return nil
		}
		if err != nil {
			return err
		}
		info = s.CachedInfo()
		switch {
		case !hasQuorum(info.Cluster):
			return errNoQuorum
		case handoff.Seq(info.State.LastSeq) < known:
			behind = fmt.Errorf("the server has %d records, fewer than the %d that were stored", info.State.LastSeq,
				known)
			return behind
		}
		if err := l.usable(info.Config); err != nil {
			return err
		}
		l.found(handoff.Seq(info.State.LastSeq))
		return nil
	})
	if behind != nil && errors.Is(err, behind) {
		err = l.failure("read log", handoff.Corrupt, behind, "restore the stream from a backup")
	}
	return info, err
}

func (l *Log) newestKnown() handoff.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// found notes that a record exists.
func (l *Log) found(seq handoff.Seq) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = max(l.known, seq)
}

// Read implements handoff.Log.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		end, err := l.Newest(ctx)
		if err != nil {
			yield(handoff.Record{}, err)
			return
		}
		next := max(after, 0) + 1
		for m, err := range l.messages(ctx, l.stream(), uint64(next), uint64(max(end, 0))) {
			if err == nil && handoff.Seq(m.seq) != next {
				err = l.failure("read log", handoff.Corrupt, fmt.Errorf("record %d is missing", next),
					"restore the stream from a backup")
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(handoff.Record{}, err)
				return
			}
			if !yield(handoff.StoredRecord(next, m.data), nil) {
				return
			}
			next++
		}
	}
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	if err := l.listen(ctx); err != nil {
		return err
	}
	for {
		l.mu.Lock()
		woken := l.woken
		l.mu.Unlock()
		n, err := l.Newest(ctx)
		if err != nil || n > after {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-woken:
		case <-time.After(max(l.o.Poll, minPoll)):
		}
	}
}

// minPoll is the shortest time between two questions without a message.
const minPoll = 20 * time.Millisecond

// listen subscribes to the messages about new records.
func (l *Log) listen(ctx context.Context) error {
	return l.retry(ctx, "read log", func(ctx context.Context, js jetstream.JetStream) error {
		nc := js.Conn()
		l.mu.Lock()
		hints := l.hints
		l.mu.Unlock()
		if hints != nil && hints.IsValid() {
			return nil
		}
		hints, err := nc.Subscribe(l.hintSubject(), func(*nats.Msg) { l.signal(&l.woken) })
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.hints = hints
		l.mu.Unlock()
		return nc.FlushWithContext(ctx)
	})
}

// Check implements handoff.LogChecker.
func (l *Log) Check(ctx context.Context, each func(handoff.Record)) (handoff.Report, error) {
	return remote.Check(ctx, l, each)
}
