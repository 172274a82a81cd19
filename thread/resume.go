package thread

import (
	"context"
	"encoding/json"
	"errors"
)

// A Mark is where a transcript can be read further if it has only been appended to.
type Mark struct {
	Offset int64  // of the first byte that was not read
	State  []byte // what the Reader knows there
}

// A Resumer is a Reader of a file that its tool only appends to.
type Resumer interface {
	// Resume is Read with Tools for the part of a file after a mark, or the complete
	// file if from is the zero Mark. It emits the messages of that part and returns the
	// facts of the complete transcript. Calls need not name their subagents.
	//
	// Between lines it calls mark with the offset of the next one. Then state returns
	// the State of a Mark, nil if reading can't be resumed there. The messages that
	// were emitted before are those that Resume does not emit from this Mark.
	//
	// The error is ErrMark if reading can't be resumed from this Mark.
	Resume(ctx context.Context, from Mark, mark func(offset int64, state func() []byte), emit func(Message) error) (Facts,
		error)
}

// ErrMark is the error of a Resumer that must read the complete transcript.
var ErrMark = errors.New("the mark is of another state of the transcript")

// Resume is Read for a part of t, see Resumer. If its Reader is not a Resumer, the
// error is ErrMark.
func (t *Thread) Resume(ctx context.Context, from Mark, mark func(offset int64, state func() []byte),
	emit func(Message) error) error {
	r, ok := t.Reader.(Resumer)
	if !ok {
		return ErrMark
	}
	return t.read(Tools, func() (Facts, error) { return r.Resume(ctx, from, mark, emit) })
}

// A TimelineState is the part of a Timeline that a Mark needs.
type TimelineState struct {
	Pending             []byte // the messages that were not emitted, as JSON
	Open                map[string]bool
	Thinking            []string
	Messages, ToolCalls int
	Inherited           bool
}

// maxSaved is how many bytes of messages a Mark may have.
const maxSaved = 256 << 10

// Save returns the state of t. ok is false if calls without a message were not emitted,
// or very long messages.
func (t *Timeline) Save() (s TimelineState, ok bool) {
	if len(t.pending) == 0 || t.pending[0].N == 0 {
		return s, false
	}
	size := 0
	for _, m := range t.pending {
		size += len(m.Text) + len(m.Thinking)
		for _, c := range m.Tools {
			if size += len(c.Input) + len(c.Output); c.digest != "" || size > maxSaved {
				return s, false
			}
		}
	}
	pending, err := json.Marshal(t.pending)
	return TimelineState{pending, t.open, t.thinking, t.Messages, t.ToolCalls, t.Inherited}, err == nil && size <= maxSaved
}

// Restore sets the state of t, which is new.
func (t *Timeline) Restore(s TimelineState) error {
	t.open, t.thinking, t.Messages, t.ToolCalls, t.Inherited = s.Open, s.Thinking, s.Messages, s.ToolCalls, s.Inherited
	if json.Unmarshal(s.Pending, &t.pending) != nil {
		return ErrMark
	}
	return nil
}

// A MeterState is the part of a Meter that a Mark needs.
type MeterState struct {
	Usage     Usage
	Requests  []Request
	Inherited Tokens
	Invalid   int
}

// Save returns the state of m, which shares its memory.
func (m *Meter) Save() MeterState { return MeterState{m.usage, m.requests, m.inherited, m.invalid} }

// Restore sets the state of m.
func (m *Meter) Restore(s MeterState) {
	m.usage, m.requests, m.inherited, m.invalid = s.Usage, s.Requests, s.Inherited, s.Invalid
}
