package trace

import "time"

// Passed is what prompts have of artifacts.
type Passed struct {
	Refs        int    `json:"refs"`                  // to artifacts, once for each thread
	BytesPasted *int64 `json:"bytesPasted,omitempty"` // of prompts; nil if no text was compared
	Inferred    bool   `json:"inferred"`              // true: from the texts, not from a record
	LowerBound  bool   `json:"lowerBound,omitempty"`  // not everything could be compared
}

// A PromptReport has the prompts that were compared with artifacts.
type PromptReport struct {
	Conversations int       `json:"conversations"` // and subagents that were sent them
	Messages      int       `json:"messages"`
	Bytes         int64     `json:"bytes"`     // of the messages
	Artifacts     int       `json:"artifacts"` // whose text was compared
	Passages      []Passage `json:"passages"`  // at most 1,000, those with the most pasted text first
}

// A Passage is an artifact in a prompt.
type Passage struct {
	Artifact    string    `json:"artifactId"`
	URI         string    `json:"uri"` // of the message
	At          time.Time `json:"createdAt"`
	Ref         bool      `json:"ref"` // it has a ref to the artifact, for the first time in its thread
	BytesPasted int64     `json:"bytesPasted"`
	Inferred    bool      `json:"inferred"` // true
}
