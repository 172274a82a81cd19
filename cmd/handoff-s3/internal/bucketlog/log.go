// Package bucketlog keeps a log in a bucket of an S3-compatible object store.
//
//	<prefix>/log/000000000042          an object with one or several records
//	<prefix>/bodies/sha256/ab/cdef…    a body, named by its digest
//	<prefix>/claims/…                  while a machine removes bodies
//
// An object of the log has the next number and is created on the condition that
// it does not exist, so of several writers one has the number and the others take
// the next. It starts with a line that has the ID of the log, the number, the
// sequence number of the first record and the sizes of all, and is never changed.
// The store must honour the condition If-None-Match, which is tried before the
// first append of a machine.
package bucketlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// Options are where a log is and how it is used.
type Options struct {
	Endpoint       string // host and port
	Insecure       bool   // HTTP in place of HTTPS
	Region         string // "" to ask the store
	Bucket, Prefix string

	// AccessKey and SecretKey are credentials. Without them, they are taken from
	// the environment, the profile of the AWS tools, or the role of the machine.
	AccessKey, SecretKey string

	Runtime string        // the runtime directory
	Poll    time.Duration // how long records of other machines may stay unseen
	Timeout time.Duration // of one request for an object of the log; default 1 minute
	Rand    io.Reader     // for the ID of the log and the names of trial objects
}

const (
	defaultTimeout = time.Minute
	logPrefix      = "log/"
	bodyPrefix     = "bodies/sha256/"
	trialPrefix    = "trial/"
	idSize         = 16 // bytes of a log's ID
)

// A writer appends records: those that wait while others are written share the next
// write.
type writer = remote.Writer

// A Log is a handoff.Log in a bucket. Nothing is created and nobody is asked before
// it is first used.
type Log struct {
	*writer // Append and AppendAll

	o     Options
	b     *bucket
	local *filelog.Bodies
	fresh remote.Freshness

	mu    sync.Mutex // one listing at a time
	known position
	read  bool     // known was read from its file
	sure  bool     // known was compared with its object
	at    position // where the last Read ended
}

var (
	_ handoff.Log        = (*Log)(nil)
	_ handoff.Identifier = (*Log)(nil)
	_ handoff.Ender      = (*Log)(nil)
	_ handoff.LogChecker = (*Log)(nil)
	_ handoff.Repairer   = (*Log)(nil)

	_ handoff.BatchAppender = (*Log)(nil)
)

// Open returns the log at a location. Its error is about the location.
func Open(o Options) (*Log, error) {
	b, err := newBucket(o)
	if err != nil {
		return nil, err
	}
	l := &Log{o: o, b: b, local: filelog.OpenCopies(o.Runtime, o.Rand)}
	l.writer = remote.NewWriter(l.write)
	return l, nil
}

// Bodies returns the bodies of the log. Copies of them are in the runtime directory:
// it is a handoff.BodyFetcher.
func (l *Log) Bodies() handoff.Bodies { return remote.NewBodies(l.local, bodies{l, l.b}) }

// A position is an object of the log, the zero value before the first.
type position struct {
	Number int64       `json:"number"`
	Log    string      `json:"log"`
	Last   handoff.Seq `json:"last"`
	ETag   string      `json:"etag"`
	Tried  bool        `json:"tried"` // the store honours the condition
}

// file returns the file with the newest position that this machine knows.
func (l *Log) file() (dir, name string) {
	return filepath.Join(l.o.Runtime, "bucket"), fileName(l.b.core.EndpointURL().String(), l.b.location) + ".json"
}

// load reads the known position. What a file states is compared with the store.
func (l *Log) load() {
	if l.read {
		return
	}
	l.read = true
	dir, name := l.file()
	b, err := plainfile.Read(filepath.Join(dir, name), 1<<12)
	if err != nil || plainfile.CheckDir(dir) != nil {
		return
	}
	var p position
	if json.Unmarshal(b, &p) == nil && p.Number >= 0 && p.Last >= handoff.Seq(p.Number) &&
		(p.Number == 0 || isID(p.Log)) {
		l.known = p
	}
}

// started reports whether this machine knows that the log exists.
func (l *Log) started() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	return l.known.Number > 0
}

// store writes the known position. It is derived, and a directory that can't be
// written only costs time.
func (l *Log) store() {
	dir, name := l.file()
	b, err := json.Marshal(l.known)
	if err != nil || (os.Mkdir(dir, 0o700) != nil && plainfile.CheckDir(dir) != nil) {
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = durable.Replace(root, name, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// newest returns the newest object, which is not older than Poll. Kinds:
// Unavailable, Corrupt (objects are missing or were replaced).
func (l *Log) newest(ctx context.Context) (position, error) {
	if err := ctx.Err(); err != nil {
		return position{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fresh.Is() {
		return l.known, nil
	}
	l.load()
	p, err := l.find(ctx, l.known)
	if err != nil {
		return p, err
	}
	l.sure = true
	if p != l.known {
		l.known = p
		l.store()
	}
	l.fresh.Set(l.o.Poll)
	return p, nil
}

// find lists the objects from a known one.
func (l *Log) find(ctx context.Context, known position) (position, error) {
	p, next := known, known.Number
	after := keyOf(known.Number - 1)
	if known.Number == 0 {
		next, after = 1, ""
	}
	err := l.b.list(ctx, logPrefix, after, func(o object) error {
		switch {
		case o.key != keyOf(next):
			return damaged(keyOf(next), fmt.Errorf("is missing, and %s exists", o.key))
		case next == known.Number && o.etag != known.ETag:
			return damaged(o.key, errors.New("was replaced"))
		}
		p.Number, p.ETag = next, o.etag
		next++
		return nil
	})
	switch {
	case err != nil:
		return p, err
	case next == known.Number:
		return p, damaged(keyOf(known.Number), fmt.Errorf("is missing; the log had %d records", known.Last))
	case p.Number == known.Number && (l.sure || p.Number == 0):
		return p, nil
	}
	h, _, err := l.object(ctx, p.Number)
	if err != nil {
		return p, err
	}
	if (known.Log != "" && h.Log != known.Log) || h.last() < known.Last ||
		(p.Number == known.Number && h.last() != known.Last) {
		return p, damaged(keyOf(p.Number), errors.New("belongs to another log"))
	}
	p.Log, p.Last = h.Log, h.last()
	return p, nil
}

// object reads an object of the log. Kinds: Unavailable, Corrupt.
func (l *Log) object(ctx context.Context, number int64) (header, [][]byte, error) {
	content, err := l.b.get(ctx, keyOf(number), maxObject)
	if errors.Is(err, errMissing) {
		err = damaged(keyOf(number), err)
	}
	if err != nil {
		return header{}, nil, err
	}
	return decode(number, content)
}

// Refresh makes the next question ask the store.
func (l *Log) Refresh() { l.fresh.Clear() }

// ID implements handoff.Identifier.
func (l *Log) ID(ctx context.Context) (string, error) {
	p, err := l.newest(ctx)
	return p.Log, err
}

// Exists returns the error of a log whose bucket does not exist.
func (l *Log) Exists(ctx context.Context) error {
	_, err := l.Newest(ctx)
	if missing := (*remote.MissingError)(nil); errors.As(err, &missing) {
		return err
	}
	return nil // of an outage, the append that follows returns the error
}

// Newest implements handoff.Ender.
func (l *Log) Newest(ctx context.Context) (handoff.Seq, error) {
	p, err := l.newest(ctx)
	return p.Last, err
}

// Read implements handoff.Log.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		stopped := false
		err := l.readAfter(ctx, max(after, 0), func(r handoff.Record) bool {
			stopped = !yield(r, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(handoff.Record{}, err)
		}
	}
}

// readAhead is the number of objects that are read at once.
const readAhead = 32

func (l *Log) readAfter(ctx context.Context, after handoff.Seq, yield func(handoff.Record) bool) error {
	end, err := l.newest(ctx)
	if err != nil || end.Last <= after {
		return err
	}
	start, err := l.locate(ctx, end, after+1)
	if err != nil {
		return err
	}
	expected := handoff.Seq(0) // the first record of the next object
	for number := start; number <= end.Number; number += readAhead {
		for _, o := range l.objects(ctx, number, min(number+readAhead-1, end.Number)) {
			switch {
			case o.err != nil:
				return o.err
			case expected != 0 && o.header.First != expected, o.header.Log != end.Log:
				return damaged(keyOf(o.header.Number),
					fmt.Errorf("starts with record %d, not %d, or is of another log", o.header.First, expected))
			}
			for i, record := range o.records {
				seq := o.header.First + handoff.Seq(i)
				if seq <= after {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if !yield(handoff.StoredRecord(seq, record)) {
					return nil
				}
			}
			expected = o.header.last() + 1
			l.mu.Lock()
			l.at = position{Number: o.header.Number, Last: o.header.last()}
			l.mu.Unlock()
		}
	}
	return nil
}

type result struct {
	header  header
	records [][]byte
	err     error
}

// objects reads objects at once and returns them in order.
func (l *Log) objects(ctx context.Context, from, to int64) []result {
	list := make([]result, to-from+1)
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			o := &list[i]
			o.header, o.records, o.err = l.object(ctx, from+int64(i))
		})
	}
	wg.Wait()
	return list
}

// locate returns the number of the object that has a record. end is the newest
// object. It reads O(log n) objects, none if the last Read ended before the record.
func (l *Log) locate(ctx context.Context, end position, seq handoff.Seq) (int64, error) {
	l.mu.Lock()
	at := l.at
	l.mu.Unlock()
	switch {
	case seq == 1:
		return 1, nil
	case seq == at.Last+1 && at.Number < end.Number:
		return at.Number + 1, nil
	}
	// Each object has at least one record: the object is not after number seq.
	low, high := int64(1), min(end.Number, int64(seq)) // it is in low to high
	for step := int64(1); low < high; step *= 2 {
		n := max(high-step+1, low+(high-low+1)/2) // near the end first
		h, _, err := l.object(ctx, n)
		switch {
		case err != nil:
			return 0, err
		case h.First > seq:
			high = n - 1
		case h.last() < seq:
			low = n + 1
		default:
			return n, nil
		}
	}
	return low, nil
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	return remote.Wait(ctx, l.Newest, after, l.o.Poll)
}

// Check implements handoff.LogChecker.
func (l *Log) Check(ctx context.Context, each func(handoff.Record)) (handoff.Report, error) {
	return remote.Check(ctx, l, each)
}

// Repair implements handoff.Repairer. If known objects are missing or were replaced, the
// log is taken as it is from now on. One with a hole is not. Kinds: Corrupt, Unavailable.
func (l *Log) Repair(ctx context.Context, _ time.Time) error {
	l.fresh.Clear()
	if _, err := l.newest(ctx); !errors.Is(err, handoff.Corrupt) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.find(ctx, position{Tried: l.known.Tried})
	if err == nil {
		l.known, l.at = p, position{}
		l.store()
	}
	return err
}
