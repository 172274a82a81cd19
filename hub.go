package handoff

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Options are the clock, randomness and files of a Hub. Now and Rand are needed
// to record facts.
type Options struct {
	Now    func() time.Time
	Rand   io.Reader // of IDs; must be cryptographically secure
	Files  Files     // nil if the Hub has no access to files
	Checks []Check

	// AllowSecrets records texts that look like a secret, with a warning, instead of
	// refusing them.
	AllowSecrets bool
}

// A Check returns an error to refuse a draft before anything is written.
type Check func(context.Context, Draft) error

// A Hub records facts in a log and answers questions from its index. Each answer
// includes every record that the log had when the method was called. A Hub is
// safe for concurrent use.
type Hub struct {
	log      Log
	index    Index
	bodies   Bodies
	o        Options
	producer Producer
	sync     chan struct{} // has an element during a catch-up: one at a time
	closed   *atomic.Bool
}

var _ Reader = (*Hub)(nil)

// New returns a Hub for a log, its index and its kept bodies. If bodies is nil,
// no body is kept.
func New(log Log, index Index, bodies Bodies, o Options) *Hub {
	return &Hub{log: log, index: index, bodies: bodies, o: o, producer: Identify(Producer{Source: FromNone}),
		sync: make(chan struct{}, 1), closed: new(atomic.Bool)}
}

// As returns a Hub for the same log that records p as the producer.
func (h *Hub) As(p Producer) *Hub {
	as := *h
	as.producer = Identify(p)
	return &as
}

// Close makes every later operation of h, and of the Hubs that As returned, fail
// as Closed does. It does not close the log and the index.
func (h *Hub) Close() { h.closed.Store(true) }

// Closed returns an error of kind Unavailable after Close, otherwise nil.
func (h *Hub) Closed() error {
	if !h.closed.Load() {
		return nil
	}
	return E("open workspace", "", Unavailable, errors.New("it was closed"), Advice("open it again"))
}

// caughtUp is the key of a context in which the index of a Hub is not brought up to the log: the
// value is Hub.sync.
type caughtUp struct{}

// CatchUpOnce applies new records of the log to the index. With the context that it returns,
// the methods of h that read answer without looking for newer records, so that an operation of
// many queries looks once: it sees every record that the log had when it began. An operation that
// records something does not use that context.
func (h *Hub) CatchUpOnce(ctx context.Context) (context.Context, error) {
	if err := h.catchUp(ctx); err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, caughtUp{}, h.sync), nil
}

// catchUp applies new records of the log to the index, unless CatchUpOnce did.
func (h *Hub) catchUp(ctx context.Context) error {
	if ctx.Value(caughtUp{}) == any(h.sync) {
		return h.Closed()
	}
	return h.catchUpNow(ctx)
}

// catchUpNow is catchUp also after CatchUpOnce.
func (h *Hub) catchUpNow(ctx context.Context) error {
	if err := h.Closed(); err != nil {
		return err
	}
	select {
	case h.sync <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.sync }()
	return CatchUp(ctx, h.log, h.index)
}

// Artifact implements Reader. It reads the file to set Target.
func (h *Hub) Artifact(ctx context.Context, id string) (Artifact, error) {
	if err := h.catchUp(ctx); err != nil {
		return Artifact{}, err
	}
	a, err := h.index.Artifact(ctx, id)
	if err != nil {
		return Artifact{}, err
	}
	a, f := h.verify(ctx, h.withRecordPath(a))
	if f != nil {
		f.Close()
	}
	return a, nil
}

// Artifacts implements Reader. It sets Target as far as that is possible without
// reading files.
func (h *Hub) Artifacts(ctx context.Context, q ArtifactQuery) (ArtifactPage, error) {
	if err := q.CheckIn(ctx, h); err != nil {
		return ArtifactPage{}, err
	}
	page, err := h.index.Artifacts(ctx, q)
	for i, a := range page.Artifacts {
		page.Artifacts[i] = h.withRecordPath(a)
	}
	h.Locate(ctx, page.Artifacts)
	return page, err
}

// CheckIn returns an error of kind Invalid if Check does, or if a
// name in q.Producer is neither a field nor an ID of any producer of the log.
func (q ArtifactQuery) CheckIn(ctx context.Context, h *Hub) error {
	if err := q.Check(); err != nil {
		return err
	}
	if err := h.catchUp(ctx); err != nil {
		return err
	}
	fields := SlotNames()
	for _, name := range slices.Sorted(maps.Keys(q.Producer)) {
		index, ok := h.index.(IDLister)
		if !ok || slices.Contains(fields, SlotName(name)) {
			continue
		}
		ids, err := index.IDNames(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(ids, name) {
			continue
		}
		hint := "the fields are " + strings.Join(fields, ", ")
		if len(ids) > 0 {
			hint += "; the IDs in use are " + strings.Join(ids[:min(len(ids), 20)], ", ")
		}
		return E("producer", name, Invalid, errors.New("unknown field, and no artifact has an ID of this name"),
			Advice(hint))
	}
	return nil
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

// WorkIn implements WorkLister. It is empty if the index does not list work.
func (h *Hub) WorkIn(ctx context.Context, place string) ([]Work, error) {
	if err := h.catchUp(ctx); err != nil {
		return nil, err
	}
	if index, ok := h.index.(WorkLister); ok {
		return index.WorkIn(ctx, place)
	}
	return nil, nil
}

// WorkUnder implements WorkLister. It is empty if the index does not list work.
func (h *Hub) WorkUnder(ctx context.Context, harness, parent string) ([]Work, error) {
	if err := h.catchUp(ctx); err != nil {
		return nil, err
	}
	if index, ok := h.index.(WorkLister); ok && parent != "" {
		return index.WorkUnder(ctx, harness, parent)
	}
	return nil, nil
}

// Productions implements ProductionLister. It is empty if the index does not add up
// artifacts. An unknown By is Invalid.
func (h *Hub) Productions(ctx context.Context, q ProductionQuery) ([]Production, error) {
	if !slices.Contains(productionKeys, q.By) {
		return nil, E("list productions", q.By, Invalid, errors.New("artifacts are not grouped by this"),
			Advice("use one of: "+strings.Join(productionKeys[1:], ", ")))
	}
	if err := h.catchUp(ctx); err != nil {
		return nil, err
	}
	if index, ok := h.index.(ProductionLister); ok {
		return index.Productions(ctx, q)
	}
	return nil, nil
}

// KeptThreads implements KeptThreadLister. It is empty if the index does not list
// copies.
func (h *Hub) KeptThreads(ctx context.Context, uri string) ([]KeptThread, error) {
	if err := h.catchUp(ctx); err != nil {
		return nil, err
	}
	if index, ok := h.index.(KeptThreadLister); ok {
		return index.KeptThreads(ctx, uri)
	}
	return nil, nil
}

// Redact records a BodyRedacted or a RecordRedacted. Kinds: those of Log.Append.
func (h *Hub) Redact(ctx context.Context, f Fact) (warnings []string, err error) {
	switch f.(type) {
	case *BodyRedacted, *RecordRedacted:
	default:
		return nil, E("record", f.factType(), Invalid, errors.New("not a redaction"))
	}
	r, err := h.record(f)
	if err == nil {
		_, warnings, err = h.append(ctx, r)
	}
	return warnings, err
}

// Readable returns a record of the log as it may be shown: with the secrets replaced that
// later records name. It returns no record if these are not known. Kinds: those of
// Reader.Artifact but NotFound, and of CatchUp.
func (h *Hub) Readable(ctx context.Context, r Record) (Record, error) {
	id := r.ID
	withdrawn, ok := r.Fact.(*ArtifactWithdrawn)
	accepted, chosen := r.Fact.(*ArtifactAccepted)
	if ok {
		id = withdrawn.ArtifactID
	} else if chosen {
		id = accepted.ArtifactID
	} else if _, published := r.Fact.(*ArtifactPublished); !published {
		return r, nil
	}
	a, err := h.index.Artifact(ctx, id)
	if errors.Is(err, NotFound) { // the index may be behind
		if err = h.catchUpNow(ctx); err == nil {
			a, err = h.index.Artifact(ctx, id)
		}
	}
	switch {
	case errors.Is(err, NotFound): // an artifact that no record has published
		return r, nil
	case err != nil:
		return Record{}, err
	case a.Redacted == nil:
		return r, nil
	case chosen: // only the newest acceptance of an artifact is redacted in parts
		if accepted.Reason != "" && (a.Acceptance == nil || a.Acceptance.ID != r.ID ||
			a.Acceptance.Reason != accepted.Reason) {
			r = r.Redact([]Replacement{{Field: "/reason"}})
		}
	case !ok:
		seq := r.Seq
		r = a.Record
		r.Seq = seq
	case a.Reason != withdrawn.Reason:
		r = r.Redact([]Replacement{{Field: "/reason"}})
	}
	return r, nil
}

// withRecordPath sets RecordPath, relative to the workspace if it is inside.
func (h *Hub) withRecordPath(a Artifact) Artifact {
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

// append appends a record. A failure to update what is derived from it does not
// fail the append; it is returned as warnings.
func (h *Hub) append(ctx context.Context, r Record) (stored Record, warnings []string, err error) {
	if r.Seq, err = h.log.Append(ctx, r); err != nil {
		return r, nil, err
	}
	if f, ok := h.log.(Filer); ok && IsArtifactID(r.ID) {
		if err := f.Link(r); err != nil {
			warnings = append(warnings, "the ID link of the record is missing: "+err.Error())
		}
	}
	if err := h.catchUpNow(ctx); err != nil {
		warnings = append(warnings, "the index is behind the log: "+err.Error())
	}
	return r, warnings, nil
}

// Record appends a fact about a session, work or a path, or a review, comment or
// acceptance of an artifact; the text of a comment is kept before. The fact must be a pointer, such as
// &SessionClosed{…}. Artifacts are recorded by Publish, Withdraw and Use instead. When
// the error is nil the record is on stable storage; the warnings then report what could
// not be derived from it. Kinds: Invalid, and those of Log.Append.
func (h *Hub) Record(ctx context.Context, f Fact) (Record, []string, error) {
	switch f.(type) {
	case *ArtifactPublished, *ArtifactWithdrawn, *ArtifactLabeled, *BodyRedacted, *RecordRedacted, *Gap, *Damaged:
		return Record{}, nil, E("record", f.factType(), Invalid, errors.New("can't be recorded directly"))
	}
	secrets, err := checkSecrets(f, h.o.AllowSecrets)
	if err != nil {
		return Record{}, nil, err
	}
	r, err := h.record(f)
	if err != nil {
		return r, nil, err
	}
	r, warnings, err := h.append(ctx, r)
	return r, append(secrets, warnings...), err
}

// record returns a new record of the hub's producer.
func (h *Hub) record(f Fact) (Record, error) {
	if err := h.Closed(); err != nil {
		return Record{}, err
	}
	if !validText(reflect.ValueOf(h.producer)) || !validText(reflect.ValueOf(f)) {
		return Record{}, E("record", f.factType(), Invalid, errNotUTF8,
			Advice("encode IDs and text as UTF-8"))
	}
	if err := h.producer.check(); err != nil {
		return Record{}, err
	}
	if err := CheckThread(h.producer.Thread); err != nil {
		return Record{}, err
	}
	return NewRecord(h.o.Now(), h.o.Rand, h.producer, f)
}
