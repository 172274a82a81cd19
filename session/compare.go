package session

import (
	"encoding/json"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Comparison has two sessions side by side.
type Comparison struct {
	Before  ComparedSide     `json:"before"`
	After   ComparedSide     `json:"after"`
	Outputs []ComparedOutput `json:"outputs"` // sorted by file
	Inputs  []ComparedInput  `json:"inputs"`  // sorted by name
}

// A ComparedSide is one of the sessions.
type ComparedSide struct {
	ID         string                  `json:"id"`
	Agent      handoff.SessionAgent    `json:"agent,omitzero"`
	Workflow   handoff.SessionWorkflow `json:"workflow,omitzero"`
	Execution  int                     `json:"execution,omitempty"`
	Status     string                  `json:"status"`
	OpenedAt   time.Time               `json:"startedAt,omitzero"`
	ClosedAt   time.Time               `json:"completedAt,omitzero"`
	DurationMS *int64                  `json:"durationMs,omitempty"` // from its start to its end, nil if it is not known
}

// A Change is what happened to a value between the sessions.
type Change string

// The changes of an output or an input.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
	Same    Change = "same"
	Unknown Change = "unknown" // of an output without a digest
)

// A ComparedOutput is a file that at least one of the sessions left in its folder.
type ComparedOutput struct {
	File   string          `json:"file"`
	Change Change          `json:"change"`
	Before *ComparedDigest `json:"before,omitempty"`
	After  *ComparedDigest `json:"after,omitempty"`
}

// A ComparedDigest identifies the content of an output: that of its newest artifact that
// is not withdrawn.
type ComparedDigest struct {
	ArtifactID string         `json:"artifactId"`
	Digest     handoff.Digest `json:"digest,omitzero"`
	SizeBytes  *int64         `json:"sizeBytes,omitempty"`
}

// A ComparedInput is an input that at least one of the sessions had.
type ComparedInput struct {
	Name   string          `json:"name"`
	Change Change          `json:"change"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}
