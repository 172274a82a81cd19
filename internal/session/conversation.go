package session

import (
	"time"

	"github.com/agent-handoff/handoff"
)

// A Conversation is one that the main agent of a program had in a session, as the
// hooks of the program reported it. What only its transcript shows is added by
// whoever can read it.
type Conversation struct {
	Thread    string    `json:"thread"` // its URI
	Harness   string    `json:"harness,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Status    string    `json:"status,omitempty"` // of the transcript, otherwise what the program reported at the end

	Subagents    int            `json:"subagents,omitempty"` // of the transcript
	Usage        *handoff.Usage `json:"usage,omitempty"`     // of the transcript, including subagents
	Completeness string         `json:"completeness,omitempty"`
	Reason       string         `json:"reason,omitempty"` // why usage is not exact
}

// threads returns the threads of work, in the order in which they
// started. One that was resumed in the session is known by its prompts only.
func conversations(work []handoff.Work) []Conversation {
	agents, known := map[string]bool{}, map[string]int{} // by thread
	for _, w := range work {
		agents[w.Thread] = agents[w.Thread] || w.Kind == "task"
	}
	var list []Conversation
	for _, w := range work {
		if w.Thread == "" || agents[w.Thread] {
			continue // its parent's transcript leads to a subagent
		}
		i, ok := known[w.Thread]
		if !ok {
			i = len(list)
			known[w.Thread] = i
			list = append(list, Conversation{Thread: w.Thread, Harness: w.Harness, StartedAt: w.StartedAt})
		}
		if c := &list[i]; w.Kind == "session" || w.EndedAt.After(c.EndedAt) {
			c.EndedAt, c.Status = w.EndedAt, w.Status
		}
	}
	return list
}
