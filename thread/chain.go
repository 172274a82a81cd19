package thread

import (
	"context"
	"errors"
	"strings"
)

// A Chain is which threads continue the work of others, as the first prompt of each states it.
type Chain struct {
	Continues   URI   `json:"continues,omitzero"`    // the zero URI for none
	ContinuedBy []URI `json:"continuedBy,omitempty"` // in the order of their starts
}

// continues is the beginning of the line that names the thread whose work a thread continues.
const continues = "Continue the work of "

// ContinueLine returns a line which, in its first prompt, states that a thread continues the work
// of u. A text may follow it after a space.
func ContinueLine(u URI) string { return continues + u.Main().String() }

// ContinuedIn returns the thread whose work t continues if this is its first prompt: that of the first
// line of the form of ContinueLine; the zero URI for none, for t itself, and of a subagent.
func (t *Thread) ContinuedIn(prompt string) URI {
	for line := range strings.Lines(prompt) {
		rest, ok := strings.CutPrefix(line, continues+"agents://")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimRight(rest, "\r\n"), " ")
		if u, err := ParseURI("agents://" + name); err == nil && u.Main() != t.URI() && !t.IsAgent() {
			return u.Main()
		}
		break
	}
	return URI{}
}

// Continues returns the thread whose work t states to continue in its first prompt, the zero URI for
// none. It reads no further than that.
func (t *Thread) Continues(ctx context.Context) (u URI, err error) {
	enough := errors.New("that was the first prompt")
	_, err = t.Reader.Read(ctx, Texts, func(m Message) error {
		if m.Role != User || m.Inherited {
			return nil
		}
		u = t.ContinuedIn(m.Text)
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return u, err
}
