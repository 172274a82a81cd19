package lifecycle

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// threads returns the threads of work, in the order in which they
// started. One that was resumed in the session is known by its prompts only.
func conversations(work []handoff.Work) []session.Thread {
	agents, known := map[string]bool{}, map[string]int{} // by thread
	for _, w := range work {
		agents[w.Thread] = agents[w.Thread] || w.Kind == "task"
	}
	var list []session.Thread
	for _, w := range work {
		if w.Thread == "" || agents[w.Thread] {
			continue // its parent's transcript leads to a subagent
		}
		i, ok := known[w.Thread]
		if !ok {
			i = len(list)
			known[w.Thread] = i
			list = append(list, session.Thread{Thread: w.Thread, Harness: w.Harness, StartedAt: w.StartedAt})
		}
		if c := &list[i]; w.Kind == "session" || w.EndedAt.After(c.EndedAt) {
			c.EndedAt, c.Status = w.EndedAt, w.Status
		}
	}
	return list
}
