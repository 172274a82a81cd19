package handoff

import (
	"context"
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
