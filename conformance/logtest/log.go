package logtest

import (
	"context"
	"iter"
	"sync"

	"github.com/agent-handoff/handoff"
)

// MemoryLog is a Log that lasts as long as the process. Its records go through
// their bytes, as any other log's do.
type MemoryLog struct {
	mu      sync.Mutex
	records [][]byte
	grown   chan struct{} // closed by the next append
}

// NewMemoryLog returns an empty log.
func NewMemoryLog() *MemoryLog { return &MemoryLog{grown: make(chan struct{})} }

// Append implements Log.
func (l *MemoryLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
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

// Read implements Log.
func (l *MemoryLog) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
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

// Wait implements Log.
func (l *MemoryLog) Wait(ctx context.Context, after handoff.Seq) error {
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

func (l *MemoryLog) at(seq handoff.Seq) ([]byte, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < 1 || int(seq) > len(l.records) {
		return nil, l.grown, false
	}
	return l.records[seq-1], l.grown, true
}
