package remote

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
)

// An Entry is a record that is appended, and its bytes.
type Entry struct {
	Record handoff.Record
	JSON   []byte
}

// MaxBatch is the largest number of records that a Writer writes at once. One record
// may exceed MaxBatchBytes.
const (
	MaxBatch      = 256
	MaxBatchBytes = 4 << 20
)

// A Writer appends records in batches: those that wait while a batch is written are
// the next one.
type Writer struct {
	write   func(context.Context, []Entry) (handoff.Seq, error)
	queue   chan *request
	writing chan struct{} // has a value while a goroutine writes
}

type request struct {
	entry Entry
	done  chan struct{} // closed when seq and err are set
	seq   handoff.Seq
	err   error
}

// NewWriter returns a Writer. write appends records and returns the sequence number
// of the first.
func NewWriter(write func(context.Context, []Entry) (handoff.Seq, error)) *Writer {
	return &Writer{write, make(chan *request, MaxBatch), make(chan struct{}, 1)}
}

// Append implements handoff.Log.
func (w *Writer) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	b, err := r.JSON()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	q := &request{entry: Entry{r, b}, done: make(chan struct{})}
	select {
	case w.queue <- q:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for {
		select {
		case <-q.done:
			return q.seq, q.err
		case w.writing <- struct{}{}:
			w.writeQueued(ctx, q)
			<-w.writing
		}
	}
}

// AppendAll implements handoff.BatchAppender. All records are encoded before the
// first is written.
func (w *Writer) AppendAll(ctx context.Context, records []handoff.Record) (first handoff.Seq, err error) {
	entries := make([]Entry, len(records))
	for i, r := range records {
		b, err := r.JSON()
		if err != nil {
			return 0, err
		}
		entries[i] = Entry{r, b}
	}
	select {
	case w.writing <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-w.writing }()
	for next := handoff.Seq(0); len(entries) > 0 && err == nil; {
		n, size := 0, 0
		for ; n < len(entries) && n < MaxBatch && size < MaxBatchBytes; n++ {
			size += len(entries[n].JSON)
		}
		var seq handoff.Seq
		seq, err = w.write(ctx, entries[:n])
		switch {
		case err != nil:
		case first == 0:
			first = seq
		case seq != next:
			err = handoff.E("append", "several records", handoff.Conflict,
				errors.New("another writer appended in between"),
				handoff.Advice("try again when no other writer is active"))
		}
		next, entries = seq+handoff.Seq(n), entries[n:]
	}
	return first, err
}

// writeQueued writes the records that wait. Only the caller's own record is given
// up when its context ends: those of other callers were not cancelled.
func (w *Writer) writeQueued(ctx context.Context, own *request) {
	var batch []*request
	var entries []Entry
	for size := 0; len(w.queue) > 0 && len(batch) < MaxBatch && size < MaxBatchBytes; {
		q := <-w.queue
		size += len(q.entry.JSON)
		batch, entries = append(batch, q), append(entries, q.entry)
	}
	if len(batch) == 0 {
		return
	}
	if len(batch) > 1 || batch[0] != own {
		ctx = context.WithoutCancel(ctx)
	}
	first, err := w.write(ctx, entries)
	for i, q := range batch {
		if q.err = err; err == nil {
			q.seq = first + handoff.Seq(i)
		}
		close(q.done)
	}
}
