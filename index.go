package handoff

import (
	"context"
	"errors"
	"time"
)

// A Reader answers questions about the facts in a log. It can't change them. It
// is safe for concurrent use.
type Reader interface {
	// Artifact returns the artifact with the given ID, or kind NotFound.
	Artifact(ctx context.Context, id string) (Artifact, error)

	// Artifacts returns the artifacts that q selects, newest first.
	Artifacts(ctx context.Context, q ArtifactQuery) (ArtifactPage, error)

	// Session returns the session or run with the given ID, or kind NotFound.
	Session(ctx context.Context, id string) (Session, error)

	// Sessions returns the sessions that q selects, in the order of SessionOrder.
	Sessions(ctx context.Context, q SessionQuery) (SessionPage, error)

	// Work returns the unit of work with the ID that the harness gave it, or
	// kind NotFound.
	Work(ctx context.Context, harness, id string) (Work, error)
}

// An Index is a Reader that is kept up to date from a log.
type Index interface {
	Reader

	// Seq returns the sequence number of the last record applied, 0 for none.
	Seq(ctx context.Context) (Seq, error)

	// Apply adds records to the index, all or none. They must be in the order
	// of their Seq. Records that were already applied are ignored; a gap after
	// the last one applied is an error of kind Conflict.
	Apply(ctx context.Context, records ...Record) error
}

// catchUpBatch is the number of records that an index applies at a time.
const catchUpBatch = 512

// CatchUp applies to an index the records of its log that it has not applied.
// Its kinds are those of Log.Read and Index.Apply.
func CatchUp(ctx context.Context, log Log, index Index) error {
	last, err := index.Seq(ctx)
	if err != nil {
		return err
	}
	var batch []Record // most calls find none, and a batch is a few hundred KB
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

// An IDLister is an Index that lists the names that are in Producer.IDs of any
// artifact, so that a query by another name is refused.
type IDLister interface {
	IDNames(ctx context.Context) ([]string, error)
}

// A WorkLister is an Index that lists units of work, in the order in which they
// started.
type WorkLister interface {
	// WorkIn returns the work that was done in a session or run of handoff, or in a
	// thread by its URI, all work if the place is "".
	WorkIn(ctx context.Context, place string) ([]Work, error)

	// WorkUnder returns the work that has the given parent. The IDs are those of
	// a harness.
	WorkUnder(ctx context.Context, harness, parent string) ([]Work, error)
}

// A KeptThread is the newest copy of a transcript that was kept.
type KeptThread struct {
	ThreadKept
	RecordID string    `json:"recordId"`
	KeptAt   time.Time `json:"keptAt"`
	Dropped  *Dropped  `json:"dropped,omitempty"` // why the copy may be gone
}

// A KeptThreadLister is an Index that finds the kept copies of transcripts.
type KeptThreadLister interface {
	// KeptThreads returns the copy of a thread, or of each if the URI is "",
	// by URI.
	KeptThreads(ctx context.Context, uri string) ([]KeptThread, error)
}

// A RedactionLister is an Index that lists the bodies that may not be read.
type RedactionLister interface {
	// RedactedBodies returns the digests of BodyRedacted facts, in order.
	RedactedBodies(ctx context.Context) ([]Digest, error)
}

// A TargetCache is an Index that stores the target state that reading an
// artifact's file gave, so that a list can show it without reading the file. The
// states are derived: an index may forget them at any time.
type TargetCache interface {
	// Targets returns the stored states, by ID, of the artifacts whose file
	// still has the given fingerprint.
	Targets(ctx context.Context, fingerprints map[string]string) (map[string]Target, error)

	// PutTarget replaces the stored state of an artifact.
	PutTarget(ctx context.Context, id, fingerprint string, t Target) error
}
