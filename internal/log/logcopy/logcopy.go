// Package logcopy copies a log and its bodies to another log.
package logcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/storage"
)

// A Side is a log and its bodies.
type Side struct {
	Log    handoff.Log
	Bodies handoff.Bodies
}

// Records are a log in memory: what is copied from a file, or to one.
type Records struct {
	handoff.Log
	List []handoff.Record
}

// Append implements handoff.Log.
func (l *Records) Append(_ context.Context, r handoff.Record) (handoff.Seq, error) {
	l.List = append(l.List, r)
	return handoff.Seq(len(l.List)), nil
}

// Read implements handoff.Log.
func (l *Records) Read(context.Context, handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		for _, r := range l.List {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Options change what is copied.
type Options struct {
	// Origin is set in records without one: those of this runtime directory, in a
	// target that other machines use. "" leaves them as they are.
	Origin string

	// Import marks the records as those of an import: they count for nothing before
	// session.imported names it. The target may have any other records.
	Import string

	// Select selects the records that are copied, in the order of the log; nil for all.
	// The target is then another log, which nothing continues.
	Select func(handoff.Record) bool

	// Thread selects the copies of transcripts whose bodies are copied; nil for all.
	// The others are Missing.
	Thread func(*handoff.ThreadKept) bool

	// Redact writes records with the replacements that later records name. The target is
	// then another log: a later copy can continue it only if nothing was redacted since.
	Redact bool

	// Progress is called with the number of records that the target has, and the
	// number that it will have, 0 if that is not known. It may be nil.
	Progress func(done, total handoff.Seq)
}

// batch is the number of records that are appended at once.
const batch = 256

// Copy appends to a log the records of another that it does not have, with their
// bodies. Records keep their IDs and their order. What the target has must be the
// beginning of the source; Copy continues after it. At the end it reads what it has
// copied and compares it.
//
// Kinds: Conflict (the target has other records, or another writer appends to it),
// Corrupt (a record of the source is damaged, or the target has something else than
// was copied), and those of the logs.
func Copy(ctx context.Context, from, to Side, o Options) (storage.LogCopy, error) {
	c := &copier{from: from, to: to, o: o, result: storage.LogCopy{Missing: []string{}}}
	if e, ok := from.Log.(handoff.Ender); ok {
		var err error
		if c.total, err = e.Newest(ctx); err != nil {
			return c.result, err
		}
	}
	for r, err := range from.Log.Read(ctx, 0) {
		if err != nil {
			break // the copy reports it
		}
		c.redacted.Add(r)
		c.dropped.Add(r)
	}
	if o.Import != "" || o.Select != nil {
		err := c.findImported(ctx)
		if err == nil {
			err = c.copy(ctx, 0)
		}
		return c.result, err
	}
	if err := c.skip(ctx); err != nil {
		return c.result, err
	}
	start := c.result.Last
	if err := c.copy(ctx, start); err != nil {
		return c.result, err
	}
	return c.result, c.verify(ctx, start)
}

type copier struct {
	from, to Side
	o        Options
	total    handoff.Seq
	redacted handoff.Redactions
	dropped  handoff.Drops
	imported map[string]bool // the IDs of the records of the import that the target has
	result   storage.LogCopy
}

// record returns a record as the target stores it, and its bytes.
func (c *copier) record(r handoff.Record) (handoff.Record, []byte, error) {
	if f, ok := r.Fact.(*handoff.Damaged); ok {
		return r, nil, handoff.E("copy log", fmt.Sprintf("record %d", r.Seq), handoff.Corrupt, f.Err,
			handoff.Suggest("see what is damaged", handoff.ActionCheck))
	}
	if c.o.Redact {
		r = c.redacted.Record(r)
	}
	b, err := r.JSON()
	marks := map[string]string{}
	if r.Origin == "" && c.o.Origin != "" {
		marks["origin"] = c.o.Origin
	}
	if c.o.Import != "" {
		marks["import"] = c.o.Import
	}
	if err == nil && len(marks) > 0 {
		if b, err = jsonl.WithFields(b, marks); err == nil {
			seq := r.Seq
			r, err = handoff.ParseRecord(b)
			r.Seq = seq
		}
	}
	return r, bytes.TrimSpace(b), err
}

// skip compares the records of the target with those of the source.
func (c *copier) skip(ctx context.Context) error {
	next, stop := iter.Pull2(c.from.Log.Read(ctx, 0))
	defer stop()
	for got, err := range c.to.Log.Read(ctx, 0) {
		if err != nil {
			return err
		}
		want, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			return c.conflict(got, "the source has only %d records", c.result.Last)
		}
		_, bytesWanted, err := c.record(want)
		if err != nil {
			return err
		}
		if b, err := got.JSON(); err != nil || !bytes.Equal(bytes.TrimSpace(b), bytesWanted) {
			return c.conflict(got, "the source has %s with other content there", want.ID)
		}
		c.result.Last = got.Seq
		c.result.Records++
	}
	return nil
}

// findImported finds the records of the import that the target has.
func (c *copier) findImported(ctx context.Context) error {
	c.imported = map[string]bool{}
	for r, err := range c.to.Log.Read(ctx, 0) {
		if err != nil {
			return err
		}
		if c.o.Import != "" && r.Import == c.o.Import {
			c.imported[r.ID] = true
		}
	}
	return nil
}

func (c *copier) conflict(r handoff.Record, format string, args ...any) error {
	return handoff.E("copy log", fmt.Sprintf("record %d of the target, %s", r.Seq, r.ID), handoff.Conflict,
		fmt.Errorf(format, args...),
		handoff.Advice("copy to an empty log, or to one that is the beginning of the source"))
}

// copy appends the records of the source after a position, after their bodies.
func (c *copier) copy(ctx context.Context, after handoff.Seq) error {
	var list []handoff.Record
	flush := func() error {
		err := c.append(ctx, list)
		list = list[:0]
		return err
	}
	for r, err := range c.from.Log.Read(ctx, after) {
		if err == nil {
			r, _, err = c.record(r)
		}
		if err == nil && (c.imported[r.ID] || (c.o.Select != nil && !c.o.Select(r))) {
			continue
		}
		if err == nil {
			err = c.bodies(ctx, r)
		}
		if err != nil {
			return errors.Join(err, flush())
		}
		c.result.Records++
		if list = append(list, r); len(list) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// append appends records at the end of what the target has.
func (c *copier) append(ctx context.Context, list []handoff.Record) error {
	if len(list) == 0 {
		return nil
	}
	if a, ok := c.to.Log.(handoff.BatchAppender); ok {
		first, err := a.AppendAll(ctx, list)
		return c.appended(list, first, err)
	}
	for i := range list {
		seq, err := c.to.Log.Append(ctx, list[i])
		if err := c.appended(list[i:i+1], seq, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) appended(list []handoff.Record, first handoff.Seq, err error) error {
	if err != nil {
		return err
	}
	if first != c.result.Last+1 && c.imported == nil {
		return c.conflict(list[0], "another writer appended to the target")
	}
	for i, r := range list {
		if f, ok := c.to.Log.(handoff.Filer); ok && handoff.IsArtifactID(r.ID) {
			r.Seq = first + handoff.Seq(i)
			_ = f.Link(r) // derived: a check reports it, and a repair creates it
		}
	}
	c.result.Last = first + handoff.Seq(len(list)) - 1
	c.result.Copied += len(list)
	if c.o.Progress != nil {
		c.o.Progress(c.result.Last, max(c.total, c.result.Last))
	}
	return nil
}

// unknownSize is the size up to which a body is copied whose record states none: a
// directory.
const unknownSize = 1 << 30

// bodies copies the kept copies of an artifact or transcript.
func (c *copier) bodies(ctx context.Context, r handoff.Record) error {
	for _, d := range handoff.BodiesOf(r.Fact) {
		if err := c.body(ctx, r, d); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) body(ctx context.Context, r handoff.Record, d handoff.Digest) error {
	if _, redacted := c.redacted.Body(r.Import, d); redacted {
		return nil
	}
	if f, ok := r.Fact.(*handoff.ThreadKept); ok && c.o.Thread != nil && !c.o.Thread(f) {
		c.result.Missing = append(c.result.Missing, r.ID)
		return nil
	}
	if there, err := c.to.Bodies.Has(ctx, d); err != nil || (there && !c.sameStore()) {
		return err
	}
	if b, ok := c.from.Bodies.(handoff.BodyFetcher); ok {
		size := int64(unknownSize)
		switch f := r.Fact.(type) {
		case *handoff.ArtifactPublished:
			if f.SizeBytes != nil && f.Digest.Value == d.Value {
				size = *f.SizeBytes
			}
		case *handoff.ThreadKept:
			size = f.SizeBytes
		}
		if err := b.Fetch(ctx, d, size); err != nil && !errors.Is(err, handoff.NotFound) {
			return err
		}
	}
	body, err := c.from.Bodies.Open(ctx, d)
	if errors.Is(err, handoff.NotFound) {
		of := r.ID
		if f, ok := r.Fact.(*handoff.BodyRedacted); ok {
			of = f.ArtifactID
		}
		if !c.dropped.Has(r.Import, of, d) {
			c.result.Missing = append(c.result.Missing, r.ID) // collected after a withdrawal, or lost
		}
		return nil
	}
	if err != nil {
		return err
	}
	got, err := c.to.Bodies.Put(ctx, body)
	if err = errors.Join(err, body.Close()); err == nil && got.Value != d.Value {
		err = handoff.E("copy log", "body of "+r.ID, handoff.Corrupt, errors.New("does not match its digest"),
			handoff.Suggest("see what is damaged", handoff.ActionCheck))
	}
	if err == nil {
		c.result.Bodies++
	}
	return err
}

// sameStore reports whether a body that the target has may be only the copy on this
// machine, which the remote store still needs.
func (c *copier) sameStore() bool {
	_, remote := c.to.Bodies.(handoff.BodyFetcher)
	return remote
}

// verify compares the records that were copied.
func (c *copier) verify(ctx context.Context, after handoff.Seq) error {
	next, stop := iter.Pull2(c.to.Log.Read(ctx, after))
	defer stop()
	for want, err := range c.from.Log.Read(ctx, after) {
		if err != nil || want.Seq > c.result.Last {
			return err
		}
		_, bytesWanted, err := c.record(want)
		if err != nil {
			return err
		}
		got, err, ok := next()
		if err != nil {
			return err
		}
		var b []byte
		if ok {
			b, err = got.JSON()
		}
		if err != nil || !bytes.Equal(bytes.TrimSpace(b), bytesWanted) {
			return handoff.E("copy log", fmt.Sprintf("record %d of the target", want.Seq), handoff.Corrupt,
				errors.New("differs from what was copied"),
				handoff.Advice("copy to another log, and check the storage of this one"))
		}
	}
	return nil
}
