package transcript

import "github.com/agent-handoff/handoff/thread"

// A Brief is what the next agent needs to know of a thread to go on with its work.
type Brief struct {
	URI    thread.URI `json:"uri"`
	End    End        `json:"end"`
	Text   string     `json:"text"`   // Markdown
	Tokens int        `json:"tokens"` // of the text, estimated; it rather has fewer
}

// An End is how a thread ended.
type End struct {
	Kind   EndKind `json:"kind"`
	Reason string  `json:"reason,omitempty"` // as its program recorded it
	Resets string  `json:"resets,omitempty"` // when its limit ends, as its program words it
}

// An EndKind is a way in which a thread ended.
type EndKind string

// The kinds.
const (
	EndWell    EndKind = "ended well"
	EndWaiting EndKind = "waits for a person"
	EndRunning EndKind = "running"
	EndLimit   EndKind = "at its limit"
	EndError   EndKind = "ended with an error"
	EndKilled  EndKind = "killed"
	EndSilent  EndKind = "no activity"
	EndUnknown EndKind = "unknown"
)

// Well reports whether nothing is left over from the last turn.
func (e End) Well() bool { return e.Kind == EndWell || e.Kind == EndWaiting || e.Kind == EndRunning }
