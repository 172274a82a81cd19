package handoff

import (
	"context"
	"iter"
	"slices"
	"time"
)

// The interfaces of this file are optional abilities of a [Log] or of [Bodies],
// found by type assertion. Package logtest has a conformance test for each.

// An Identifier is a Log with a random ID, by which an index recognizes its log;
// "" if the log does not exist yet. A repair that fills a position changes it.
type Identifier interface {
	ID(ctx context.Context) (string, error)
}

// An Ender is a Log that finds its last record, 0 for none, without reading.
type Ender interface {
	Newest(ctx context.Context) (Seq, error)
}

// An Outlaster is a Log on another machine, which a watch outlasts while it can't be
// reached.
type Outlaster interface {
	// Outlast returns nil when a watch that ended with an error should go on, after a
	// pause, and the error if it should end.
	Outlast(ctx context.Context, err error) error
}

// A BatchAppender is a Log that appends several records faster than one by one.
type BatchAppender interface {
	// AppendAll adds records in their order, without others in between, and
	// returns the sequence number of the first. After an error the first ones may
	// be stored. Its kinds are those of Log.Append.
	AppendAll(ctx context.Context, records []Record) (Seq, error)
}

// A LogChecker is a Log that can verify its own storage.
type LogChecker interface {
	// Check reports what is wrong with the log and changes nothing. It calls
	// each, unless that is nil, for every record, damaged ones included, in order.
	Check(ctx context.Context, each func(Record)) (Report, error)
}

// A BodyChecker is a body store that can verify its own storage.
type BodyChecker interface {
	// Check reads every body, reports what is wrong and changes nothing.
	Check(ctx context.Context) (Report, error)
}

// A Repairer is a Log or a body store that can repair its own storage.
type Repairer interface {
	// Repair fixes what can be fixed without changing a record. What is damaged
	// is quarantined, never deleted.
	Repair(ctx context.Context, now time.Time) error
}

// A BodyLister is a body store that can enumerate its bodies.
type BodyLister interface {
	List(ctx context.Context) iter.Seq2[StoredBody, error]
}

// A BodyRemover is a body store that can remove bodies.
type BodyRemover interface {
	// Remove removes a body that was last put before a time, and reports whether
	// it did. A body that is put again meanwhile is stored when that Put returns.
	Remove(ctx context.Context, d Digest, before time.Time) (bool, error)
}

// A BodyEraser is a body store that can remove a body at once, because it has a secret.
type BodyEraser interface {
	// Erase removes a body wherever the store has it. A body that is not stored is no
	// error. Kinds: Unavailable, Unsupported (a copy remains; the error says where).
	Erase(ctx context.Context, d Digest) error
}

// A BodyFetcher is a body store on another machine whose bodies are copied to
// this one.
type BodyFetcher interface {
	// Fetch copies a body to this machine, unless it was fetched, and verifies it
	// first. Kinds: NotFound, Corrupt (it has other bytes, or more than size),
	// Unavailable.
	Fetch(ctx context.Context, d Digest, size int64) error

	// Fetched reports whether a body is on this machine.
	Fetched(ctx context.Context, d Digest) (bool, error)
}

// A StoredBody is one body of a store.
type StoredBody struct {
	Digest    Digest    `json:"digest"`
	SizeBytes int64     `json:"sizeBytes"`
	StoredAt  time.Time `json:"storedAt"` // when it was last put
}

// A Finding is one result of a check.
type Finding struct {
	Name string `json:"name"` // what it is about, such as a file of the runtime directory
	Text string `json:"text"`
	Note bool   `json:"note,omitempty"` // not a problem: derived, or left by a killed process
	Hint Hint   `json:"-"`              // what can be done about it
}

// A Report is the outcome of a check.
type Report struct {
	Records  int       `json:"records"`
	Findings []Finding `json:"findings"`
}

// OK reports whether no finding is a problem.
func (r Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Note })
}
