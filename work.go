package handoff

import "time"

// Work is a view of one unit of effort, identified by the harness and its own id:
// a prompt, a skill, a task or a tool call.
type Work struct {
	Harness   string    `json:"harness,omitempty"`
	ID        string    `json:"id"`
	Parent    string    `json:"parent,omitempty"`
	Kind      string    `json:"kind,omitempty"`
	Name      string    `json:"name,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Model     Model     `json:"model,omitzero"`
	Thread    string    `json:"thread,omitempty"`
	SessionID string    `json:"sessionId,omitempty"` // the session of handoff that the harness ran in
	RunID     string    `json:"runId,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	IsError   bool      `json:"isError,omitempty"`
	Ticket    string    `json:"ticket,omitempty"` // what the worker was given, of a stage of a pipeline
	Process   Process   `json:"process,omitzero"` // of the harness, as the newest start names it

	// Status is as the harness reported it: completed, failed or cancelled. Of work
	// without an end it is what a reader concluded, with the reason: running, stalled,
	// completed or failed; "" in an index.
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`

	Usage       *Usage `json:"usage,omitempty"`
	UsageSource string `json:"usageSource,omitempty"`

	Started     Seq    `json:"started,omitempty"`     // the record that counts as the start, 0 for none
	StartRecord string `json:"startRecord,omitempty"` // and its ID
	Ended       Seq    `json:"ended,omitempty"`       // the record that counts as the end, 0 for none
	EndRecord   string `json:"endRecord,omitempty"`   // and its ID
	Cancelled   Seq    `json:"cancelled,omitempty"`   // the first record that it was cancelled, 0 for none

	ProcessRecord string `json:"processRecord,omitempty"` // the ID of the record that names Process
}
