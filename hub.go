package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"
)

// Options are what a Hub is handed from outside, and needs to publish. Without
// Files no body is looked at.
type Options struct {
	Now    func() time.Time
	Rand   io.Reader
	Files  Files
	Checks []Check
}

// A Check may refuse a draft before anything is written.
type Check func(context.Context, Draft) error

// A Hub publishes facts to a log and answers from its index. It is the one
// type that programs use; it is safe for several goroutines.
type Hub struct {
	log      Log
	index    Index
	bodies   Bodies
	o        Options
	producer Producer
	sync     *sync.Mutex // one catch-up at a time
}

var _ Reader = (*Hub)(nil)

// New returns a Hub over a log, its index, and the bodies that it keeps; where
// bodies is nil, none can be kept.
func New(log Log, index Index, bodies Bodies, o Options) *Hub {
	return &Hub{log: log, index: index, bodies: bodies, o: o, producer: Identify(Producer{Source: FromNone}), sync: new(sync.Mutex)}
}

// As returns a Hub over the same log whose records say that p made them.
func (h *Hub) As(p Producer) *Hub {
	as := *h
	as.producer = Identify(p)
	return &as
}

// catchUp brings the index up to the newest record of the log.
func (h *Hub) catchUp(ctx context.Context) error {
	h.sync.Lock()
	defer h.sync.Unlock()
	return CatchUp(ctx, h.log, h.index)
}

// Artifact implements Reader. It reads the body to tell whether it changed.
func (h *Hub) Artifact(ctx context.Context, id string) (Artifact, error) {
	if err := h.catchUp(ctx); err != nil {
		return Artifact{}, err
	}
	a, err := h.index.Artifact(ctx, id)
	if err != nil {
		return Artifact{}, err
	}
	a, f := h.verify(ctx, h.place(a))
	if f != nil {
		f.Close()
	}
	return a, nil
}

// Artifacts implements Reader. It looks at bodies, but reads none.
func (h *Hub) Artifacts(ctx context.Context, q ArtifactQuery) (ArtifactPage, error) {
	if err := h.catchUp(ctx); err != nil {
		return ArtifactPage{}, err
	}
	page, err := h.index.Artifacts(ctx, q)
	for i, a := range page.Artifacts {
		page.Artifacts[i] = h.place(a)
	}
	h.statAll(ctx, page.Artifacts)
	return page, err
}

// Session implements Reader.
func (h *Hub) Session(ctx context.Context, id string) (Session, error) {
	if err := h.catchUp(ctx); err != nil {
		return Session{}, err
	}
	return h.index.Session(ctx, id)
}

// Sessions implements Reader.
func (h *Hub) Sessions(ctx context.Context, q SessionQuery) (SessionPage, error) {
	if err := h.catchUp(ctx); err != nil {
		return SessionPage{}, err
	}
	return h.index.Sessions(ctx, q)
}

// Work implements Reader.
func (h *Hub) Work(ctx context.Context, harness, id string) (Work, error) {
	if err := h.catchUp(ctx); err != nil {
		return Work{}, err
	}
	return h.index.Work(ctx, harness, id)
}

// place adds to a view where its record lies.
func (h *Hub) place(a Artifact) Artifact {
	if f, ok := h.log.(Filer); ok && IsArtifactID(a.ID) {
		a.RecordPath = f.File(a.Record)
		if h.o.Files == nil {
			return a
		}
		if rel, err := filepath.Rel(h.o.Files.Name(), a.RecordPath); err == nil && filepath.IsLocal(rel) {
			a.RecordPath = filepath.ToSlash(rel)
		}
	}
	return a
}

// Newest returns the place of the newest record, 0 for none.
func (h *Hub) Newest(ctx context.Context) (Seq, error) {
	if err := h.catchUp(ctx); err != nil {
		return 0, err
	}
	return h.index.Seq(ctx)
}

// Watch yields the records after the given one and then each new one, until
// ctx ends. Its last error is then the context's.
func (h *Hub) Watch(ctx context.Context, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			for r, err := range h.log.Read(ctx, after) {
				if !yield(r, err) || err != nil {
					return
				}
				after = r.Seq
			}
			if err := h.log.Wait(ctx, after); err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// append appends a record. Once it returns nil, the record is stored, whatever
// happens to what is derived from it; that is returned as warnings.
func (h *Hub) append(ctx context.Context, r Record) (stored Record, warnings []string, err error) {
	if r.Seq, err = h.log.Append(ctx, r); err != nil {
		return r, nil, err
	}
	if f, ok := h.log.(Filer); ok && IsArtifactID(r.ID) {
		if err := f.Link(r); err != nil {
			warnings = append(warnings, "the record has no file under its id: "+err.Error())
		}
	}
	if err := h.catchUp(ctx); err != nil {
		warnings = append(warnings, "the index is behind: "+err.Error())
	}
	return r, warnings, nil
}

// Record appends a fact that needs no check of its own: what happened to a
// session or to work. Artifacts are published and withdrawn instead. When its
// error is nil the record is on stable storage; what is wrong with what is
// derived from it comes as warnings. Kinds: Invalid, and those of Log.Append.
func (h *Hub) Record(ctx context.Context, f Fact) (Record, []string, error) {
	switch f.(type) {
	case *ArtifactPublished, *ArtifactWithdrawn, *Gap, *Damaged:
		return Record{}, nil, &Error{Op: "record", Name: f.factType(), Kind: Invalid, Err: errors.New("is not recorded by itself")}
	}
	r, err := h.record(f)
	if err != nil {
		return r, nil, err
	}
	return h.append(ctx, r)
}

// record returns a new record of the hub's producer.
func (h *Hub) record(f Fact) (Record, error) {
	if !utf8.ValidString(fmt.Sprint(h.producer, f)) { // JSON would hold other bytes than were said
		return Record{}, &Error{Op: "record", Name: f.factType(), Kind: Invalid, Err: errors.New("has an id or text that is not UTF-8"), Hint: Advice("write it as UTF-8")}
	}
	return NewRecord(h.o.Now(), h.o.Rand, h.producer, f)
}
