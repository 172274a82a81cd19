package thread

import "strings"

// A Chain is which threads continue the work of others, as the first prompt of each states it.
type Chain struct {
	Continues        URI   `json:"continues,omitzero"`         // the zero URI for none
	ContinuesMissing bool  `json:"continuesMissing,omitempty"` // this machine does not have that thread, so it does not count
	ContinuedBy      []URI `json:"continuedBy,omitempty"`      // in the order of their starts
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
