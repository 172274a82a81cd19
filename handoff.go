// Package handoff records what agents hand to each other.
//
// Several agents work on one task and leave files behind. This package keeps
// the record of which of those files matter, who made them, from what, and in
// place of what, so that the next agent finds them by a short reference. The
// files stay where their makers put them; only references travel.
//
// # Words
//
//   - A [Record] is one immutable, stored fact: artifact.published,
//     session.closed. Records are written once and never change.
//   - A [Log] is the ordered sequence of records, which only grows. It is the
//     only truth. A [Seq] is a record's place in it.
//   - An artifact is a published output: a record that points at a file or
//     directory. Its id is the id of its record.
//   - A body is the bytes that an artifact points at. A kept body is a copy of
//     them as published, in [Bodies].
//   - A channel is a named stream of artifacts with one purpose: analysis,
//     design, patch, verification, handoff, or any lower-case word.
//   - A session is one execution of an agent's workflow; a session inside a
//     session is called a run. Work is one unit of effort within them.
//   - A [Producer] says who made a record, in the harness's own ids.
//   - An [Index] answers questions about a log. It is derived: deleting it
//     loses nothing.
//   - A view, such as [Artifact], is what a reader sees: the immutable record
//     plus what is computed from all the others.
//
// # Flow
//
// Facts flow one way: [Hub.Publish] checks a [Draft] and appends a record, the
// index folds it, and a [Reader] shows it. What only shows things is given a
// Reader, which has no method that changes anything.
//
// Use package local to open a workspace on this machine.
package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A Seq is a record's place in one log, counted from 1. It orders facts; it
// never names them, because a copy of a log may place them anew.
type Seq int64

// A Log is an ordered sequence of records that only grows.
type Log interface {
	// Append adds r as the next record. When it returns nil the record is on
	// stable storage. Kinds: Invalid (r can't be stored), Corrupt (the log has
	// a hole), Unavailable (it can't be written), Unsupported.
	Append(ctx context.Context, r Record) (Seq, error)

	// Read yields the records after the given one, in order, and ends at the
	// newest. A stored record that can't be decoded is yielded as Damaged, so
	// that it stops nobody; a hole ends the sequence with kind Corrupt.
	Read(ctx context.Context, after Seq) iter.Seq2[Record, error]

	// Wait returns nil once there is a record after the given one, and the
	// context's error if it ends first.
	Wait(ctx context.Context, after Seq) error
}

// A Filer is a Log that keeps each record as a file of its own.
type Filer interface {
	// File returns the path under which r can be found by its id.
	File(r Record) string

	// Link gives an appended record its name by id. The name is derived: a
	// log that lacks it is whole.
	Link(r Record) error
}

// Bodies keeps copies of what artifacts point at, each once, by its digest.
type Bodies interface {
	// Put keeps what r yields until its end. When it returns nil the body is
	// on stable storage. An error of r's is returned as it is, and nothing is
	// kept. Kinds: Corrupt (what is kept under the digest is something else),
	// Unavailable, Unsupported.
	Put(ctx context.Context, r io.Reader) (Digest, error)

	// Open opens a body that it has verified. Kinds: NotFound, Corrupt (it is
	// not what was kept), Unavailable.
	Open(ctx context.Context, d Digest) (io.ReadSeekCloser, error)

	// Has reports whether there is a body of this digest, without a look at
	// its bytes. Kind: Unavailable.
	Has(ctx context.Context, d Digest) (bool, error)
}

// A Reader answers questions about the facts in a log. It can't change them.
type Reader interface {
	// Artifact returns the artifact with the given id, or kind NotFound.
	Artifact(ctx context.Context, id string) (Artifact, error)

	// Artifacts returns the artifacts that q selects, newest first.
	Artifacts(ctx context.Context, q ArtifactQuery) (ArtifactPage, error)

	// Session returns the session or run with the given id, or kind NotFound.
	Session(ctx context.Context, id string) (Session, error)

	// Sessions returns the sessions that q selects, newest first.
	Sessions(ctx context.Context, q SessionQuery) (SessionPage, error)

	// Work returns the unit of work that the harness knows by id, or kind
	// NotFound.
	Work(ctx context.Context, harness, id string) (Work, error)
}

// An Index is a Reader that is kept up to date from a log.
type Index interface {
	Reader

	// Seq returns the place of the last record applied, 0 for none.
	Seq(ctx context.Context) (Seq, error)

	// Apply folds records into the index, all or none. They come in the order
	// of their Seq; a record at or before the last one applied is ignored, and
	// one that leaves a gap after it is refused with kind Conflict.
	Apply(ctx context.Context, records ...Record) error
}

// catchUpBatch is how many records an index folds at a time.
const catchUpBatch = 512

// CatchUp brings an index up to the newest record of its log.
func CatchUp(ctx context.Context, log Log, index Index) error {
	last, err := index.Seq(ctx)
	if err != nil {
		return err
	}
	batch := make([]Record, 0, catchUpBatch)
	for r, err := range log.Read(ctx, last) {
		if err != nil {
			return errors.Join(err, index.Apply(ctx, batch...))
		}
		if batch = append(batch, r); len(batch) == catchUpBatch {
			if err := index.Apply(ctx, batch...); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return index.Apply(ctx, batch...)
}

// Unapplied returns those of the records, which come in the order of their
// Seq, that an index has yet to apply when last is the place of the last one it
// did. Its kind is Conflict where they leave a gap.
func Unapplied(last Seq, records []Record) ([]Record, error) {
	for len(records) > 0 && records[0].Seq <= last {
		records = records[1:]
	}
	for i, r := range records {
		if want := last + Seq(i) + 1; r.Seq != want {
			return nil, &Error{Op: "index", Kind: Conflict, Err: fmt.Errorf("record %d was expected, not %d", want, r.Seq)}
		}
	}
	return records, nil
}

// Verdicts is an Index that remembers what reading an artifact's file told, so
// that a list can tell without reading it. Verdicts are derived too: an index
// may forget them at any time.
type Verdicts interface {
	// Verdicts returns what is remembered, by id, of those artifacts whose
	// file has the given fingerprint still.
	Verdicts(ctx context.Context, fingerprints map[string]string) (map[string]Target, error)

	// PutVerdict takes the place of what was remembered of the artifact.
	PutVerdict(ctx context.Context, id, fingerprint string, t Target) error
}
