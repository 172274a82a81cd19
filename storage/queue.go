package storage

import (
	"time"

	"github.com/agent-handoff/handoff"
)

// A QueuedRecord is a queued record.
type QueuedRecord struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"createdAt"`
	Path      string    `json:"path,omitempty"` // of an artifact
}

// A Refusal is a queued record that the engine refused. It is kept.
type Refusal struct {
	ID     string      `json:"id"`
	Reason string      `json:"reason"`
	Number handoff.Seq `json:"number"` // in the queue
}

// A RefusedRecord is a record that the engine refused, and why.
type RefusedRecord struct {
	Record handoff.Record `json:"record"`
	Reason string         `json:"reason"`
}

// A Sent is what Send did.
type Sent struct {
	Sent    int       `json:"sent"`              // records that the log now has
	Refused []Refusal `json:"refused,omitempty"` // which are kept
}
