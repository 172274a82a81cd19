package handoff

import "time"

// Work is a view of one unit of effort, identified by the harness and its own id:
// a prompt, a skill, a task or a tool call.
type Work struct {
	Harness     string    `json:"harness,omitempty"`
	ID          string    `json:"id"`
	Parent      string    `json:"parent,omitempty"`
	Kind        string    `json:"kind,omitempty"`
	Name        string    `json:"name,omitempty"`
	Agent       string    `json:"agent,omitempty"`
	Model       Model     `json:"model,omitzero"`
	Thread      string    `json:"thread,omitempty"`
	SessionID   string    `json:"sessionId,omitempty"` // the session of handoff that the harness ran in
	RunID       string    `json:"runId,omitempty"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	EndedAt     time.Time `json:"endedAt,omitzero"`
	IsError     bool      `json:"isError,omitempty"`
	Status      string    `json:"status,omitempty"`
	Usage       *Usage    `json:"usage,omitempty"`
	UsageSource string    `json:"usageSource,omitempty"`

	Started     Seq    `json:"started,omitempty"`     // the record that counts as the start, 0 for none
	StartRecord string `json:"startRecord,omitempty"` // and its ID
	Ended       Seq    `json:"ended,omitempty"`       // the record that counts as the end, 0 for none
	EndRecord   string `json:"endRecord,omitempty"`   // and its ID
}
