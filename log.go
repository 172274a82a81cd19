package handoff

import (
	"context"
	"iter"
)

// A Seq is the sequence number of a record in one log, starting at 1. It orders
// facts but does not identify them: a copy of a log may number them differently.
type Seq int64

// A Log is an append-only, ordered sequence of records.
type Log interface {
	// Append adds r as the next record. When it returns nil the record is on
	// stable storage. Kinds: Invalid (r can't be stored), Corrupt (the log has
	// a gap), Unavailable (it can't be written), Unsupported.
	Append(ctx context.Context, r Record) (Seq, error)

	// Read yields the records after the given sequence number, in order, up to
	// the newest. A stored record that can't be decoded is yielded as Damaged,
	// so that reading goes on; a gap ends the sequence with kind Corrupt.
	Read(ctx context.Context, after Seq) iter.Seq2[Record, error]

	// Wait returns nil once there is a record after the given sequence number,
	// and the context's error if the context ends first.
	Wait(ctx context.Context, after Seq) error
}

// A Filer is a Log that stores each record in a file.
type Filer interface {
	// File returns the path of the ID link of r: the file of a record, named by
	// the record's ID.
	File(r Record) string

	// Link creates the ID link of an appended record. ID links are derived: a
	// log without them is complete.
	Link(r Record) error
}
