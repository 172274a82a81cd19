package transcript

import "github.com/agent-handoff/handoff/thread"

// A Brief is what the next agent needs to know of a thread to continue its work.
type Brief struct {
	URI    thread.URI `json:"uri"`
	End    End        `json:"end"`
	Text   string     `json:"text"`   // Markdown
	Tokens int        `json:"tokens"` // of the text, an estimate that is rather too high
}

// An End is how a thread ended.
type End struct {
	Status  thread.Status `json:"status"`
	Text    string        `json:"text"`              // the same in words, and why
	Reason  string        `json:"reason,omitempty"`  // the error as its program recorded it
	AtLimit bool          `json:"atLimit,omitempty"` // the error is that a limit of usage was reached
	Resets  string        `json:"resets,omitempty"`  // when that limit ends, as its program words it
}
