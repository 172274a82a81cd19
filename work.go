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
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	IsError   bool      `json:"isError,omitempty"`
	Started   Seq       `json:"started,omitempty"`
	Ended     Seq       `json:"ended,omitempty"`
}

// Apply applies the next record about the work to the view. Only the first start
// and the first end count.
func (w *Work) Apply(r Record) {
	switch f := r.Fact.(type) {
	case *WorkStarted:
		if w.Started == 0 {
			w.Started, w.StartedAt = r.Seq, f.StartedAt
			w.Parent, w.Kind, w.Name = f.ParentWorkID, f.Kind, f.Name
		}
	case *WorkEnded:
		if w.Ended == 0 {
			w.Ended, w.EndedAt, w.IsError = r.Seq, f.EndedAt, f.IsError
		}
	}
}
