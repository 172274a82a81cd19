// Package memory has a log, an index and bodies that last as long as the process: for tests
// of programs that embed handoff, and for programs that have a log of their own and need an
// index of it. Only the files that artifacts point at are on disk.
//
//	root, err := os.OpenRoot(dir)
//	hub := handoff.New(memory.NewLog(), memory.NewIndex(), memory.NewBodies(),
//		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: memory.Files(root)})
package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// A Log is a handoff.Log in memory. Its records go through their bytes, as those of any
// other log do. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	records [][]byte
	grown   chan struct{} // closed by the next append
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{grown: make(chan struct{})} }

// Append implements handoff.Log.
func (l *Log) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b, err := r.JSON()
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, b)
	close(l.grown)
	l.grown = make(chan struct{})
	return handoff.Seq(len(l.records)), nil
}

// Read implements handoff.Log.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		for seq := after + 1; ; seq++ {
			b, _, ok := l.at(seq)
			if !ok {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(handoff.Record{}, err)
				return
			}
			if !yield(handoff.StoredRecord(seq, b), nil) {
				return
			}
		}
	}
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	for {
		_, grown, ok := l.at(after + 1)
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grown:
		}
	}
}

func (l *Log) at(seq handoff.Seq) ([]byte, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < 1 || int(seq) > len(l.records) {
		return nil, l.grown, false
	}
	return l.records[seq-1], l.grown, true
}

// NewIndex returns an empty index, a SQLite database in memory. A Hub applies the records.
func NewIndex() handoff.Index { return sqlindex.In(inMemory{}) }

// inMemory is the place of an index that only this process has.
type inMemory struct{}

func (inMemory) Open(ctx context.Context, _ *sqlindex.Error) (*sqlindex.Index, error) {
	return sqlindex.FillMemory(ctx, none, nil)
}

func (inMemory) Queued(context.Context) ([]handoff.Record, error) { return nil, nil }

func none(handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(func(handoff.Record, error) bool) {}
}

// Files returns the files of a directory, for handoff.Options: the paths of drafts are
// relative to it, and what is published as a Body is written to its .handoff. The caller
// closes root after the last use of the Hub.
func Files(root *os.Root) handoff.Files {
	const runtime = ".handoff"
	return &content.Files{Root: root, RuntimeDir: filepath.Join(root.Name(), runtime), RuntimePath: runtime,
		Runtime: func() (*os.Root, error) {
			if err := root.Mkdir(runtime, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
			return root.OpenRoot(runtime)
		}}
}

// Bodies are handoff.Bodies in memory. They are safe for concurrent use.
type Bodies struct {
	mu     sync.Mutex
	bodies map[handoff.Digest][]byte
}

// NewBodies returns an empty store of bodies.
func NewBodies() *Bodies { return &Bodies{bodies: map[handoff.Digest][]byte{}} }

// Put implements handoff.Bodies.
func (s *Bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	if err := ctx.Err(); err != nil {
		return handoff.Digest{}, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return handoff.Digest{}, err
	}
	sum := sha256.Sum256(b)
	d := handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum[:])}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies[d] = b
	return d, nil
}

// Open implements handoff.Bodies.
func (s *Bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadSeekCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.bodies[d]
	if !ok {
		return nil, handoff.E("open body", d.Value, handoff.NotFound, errors.New("is not stored"))
	}
	return body{bytes.NewReader(b)}, nil
}

// Has implements handoff.Bodies.
func (s *Bodies) Has(ctx context.Context, d handoff.Digest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.bodies[d]
	return ok, ctx.Err()
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }
