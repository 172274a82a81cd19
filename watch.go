package handoff

import (
	"context"
	"iter"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// Newest returns the sequence number of the newest record, 0 for none. Its kinds
// are those of CatchUp.
func (h *Hub) Newest(ctx context.Context) (Seq, error) {
	if err := h.catchUp(ctx); err != nil {
		return 0, err
	}
	return h.index.Seq(ctx)
}

// Watch yields the records after the given sequence number and then each new
// record, until ctx ends. The last error is that of ctx or of the log.
func (h *Hub) Watch(ctx context.Context, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			if err := h.Closed(); err != nil {
				yield(Record{}, err)
				return
			}
			var failed error
			for r, err := range h.log.Read(ctx, after) {
				if failed = err; err != nil {
					break
				}
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			if failed == nil {
				failed = h.wait(ctx, after)
			}
			if err := h.outlast(ctx, failed); err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// watchBatch is the number of records whose views are computed at a time.
const watchBatch = 512

// WatchArtifacts yields the artifacts after the given sequence number that match
// q as they were published, and then each new one, until ctx ends. What happened
// to an artifact since then is in its view and does not decide whether it is
// yielded, so Status and paging of q are ignored. A record that can't be read is
// yielded as an artifact whose Fact is Damaged. The last error is that of ctx, of
// the log or of the index.
//
// After the first new record it pauses, for more records to yield together and
// for their writers to apply them to the index, as each writer does.
func (h *Hub) WatchArtifacts(ctx context.Context, after Seq, q ArtifactQuery, pause time.Duration) iter.Seq2[Artifact,
	error] {
	return func(yield func(Artifact, error) bool) {
		if err := q.Check(); err != nil {
			yield(Artifact{}, err)
			return
		}
		for {
			newest, err := h.Grown(ctx, after, pause)
			for after < newest && err == nil {
				to := min(after+watchBatch, newest)
				var batch []Artifact
				batch, err = h.watched(ctx, q, after, to)
				for _, a := range batch {
					if !yield(a, nil) {
						return
					}
				}
				if err == nil {
					after = to
				}
				err = h.outlast(ctx, err)
			}
			if err != nil {
				yield(Artifact{}, err)
				return
			}
		}
	}
}

// Grown waits for a record after the given sequence number, pauses as WatchArtifacts
// does, and returns the position of the index, which it updates if that is not after
// the given one. Errors are those of WatchArtifacts.
func (h *Hub) Grown(ctx context.Context, after Seq, pause time.Duration) (newest Seq, err error) {
	if err = h.Closed(); err == nil {
		err = h.wait(ctx, after)
	}
	if err == nil {
		newest, err = h.newestAfter(ctx, after, pause)
	}
	return newest, h.outlast(ctx, err)
}

// outlast returns nil if a watch goes on after an error, which may be nil.
func (h *Hub) outlast(ctx context.Context, err error) error {
	log, ok := h.log.(Outlaster)
	if err == nil || !ok || ctx.Err() != nil || h.Closed() != nil {
		return err
	}
	waiting, cancel := Waiting(ctx)
	defer cancel()
	return log.Outlast(waiting, err)
}

// newestAfter returns, after a pause, the newest record in the index, which it
// updates if that is not after the given one.
func (h *Hub) newestAfter(ctx context.Context, after Seq, pause time.Duration) (Seq, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(pause):
	}
	if newest, err := h.index.Seq(ctx); err != nil || newest > after {
		return newest, err
	}
	return h.Newest(ctx)
}

// watched returns the artifacts of a range of records that match q, oldest
// first, and the records in it that can't be read.
func (h *Hub) watched(ctx context.Context, q ArtifactQuery, after, to Seq) ([]Artifact, error) {
	q.Status = ""
	q.IncludeInactive = true
	q.Limit = 0
	q.After, q.Cursor = after, NewCursor(to+1)
	page, err := h.index.Artifacts(ctx, q)
	if err != nil {
		return nil, err
	}
	for i, a := range page.Artifacts {
		page.Artifacts[i] = h.withRecordPath(a)
	}
	h.Locate(ctx, page.Artifacts)
	list := page.Artifacts
	for _, seq := range page.Damaged {
		if seq > after && seq <= to {
			list = append(list, Artifact{Record: Record{Seq: seq, Fact: new(Damaged)}})
		}
	}
	order.Sort(list, func(a, b Artifact) int { return int(a.Seq - b.Seq) })
	return list, nil
}
