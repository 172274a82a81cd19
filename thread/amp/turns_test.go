package amp_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/amp"
)

// TestTurns reads generated threads after each change. TestTruncated truncates one.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: amp.Driver(), Asks: true, NoQuestions: true, Rewrites: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("T-019ca1ce-3ae2-7686-a41e-%012d", n)
			l.Path = ".local/share/amp/threads/" + l.ID + ".json"
			return (&recorder{log: l}).record
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	log      *threadtest.Log
	messages []obj
	results  []obj // of the calls of the last answer
}

func (r *recorder) record(step threadtest.Step) {
	n := len(r.messages)
	switch step.Kind {
	case threadtest.Prompt:
		r.add(user(n, text(step.Text)))
	case threadtest.Work:
		r.add(agent(n, "streaming", "", text(step.Text)))
		r.log.Before()
		r.work(step)
	case threadtest.Result:
		for i, u := range r.results {
			if u["toolUseID"] == step.Calls[0].ID {
				status := map[bool]string{true: "error", false: "done"}[step.Failed]
				r.results[i] = result(step.Calls[0].ID, status, step.Text)
			}
		}
		r.write()
	case threadtest.Answer:
		r.add(agent(n, "streaming", "", text(step.Text)))
		r.log.Before()
		r.messages[n] = agent(n, "complete", "end_turn", text(step.Text))
		r.write()
	case threadtest.Failure:
		r.add(agent(n, "error", ""))
	case threadtest.Interrupt:
		if len(step.Open) == 0 { // otherwise it is not known
			r.add(agent(n, "cancelled", "", text(step.Text)))
		}
	}
}

// work writes an answer with calls, and then the message with their results.
func (r *recorder) work(step threadtest.Step) {
	n := len(r.messages)
	content := []obj{text(step.Text)}
	r.results = nil
	for _, u := range step.Calls {
		content = append(content, use(u.ID, "Read"))
		status := map[bool]string{true: "blocked-on-user", false: "in-progress"}[u.Asks]
		r.results = append(r.results, result(u.ID, status, nil))
	}
	r.messages[n-1] = agent(n-1, "complete", "tool_use", content...)
	r.write()
	r.log.Before()
	r.add(user(n, r.results...))
}

func (r *recorder) add(message obj) {
	r.messages = append(r.messages, message)
	r.write()
}

// write writes the document.
func (r *recorder) write() {
	b, err := json.Marshal(obj{"id": r.log.ID, "v": 7, "created": createdAt, "messages": r.messages})
	if err != nil {
		panic(err)
	}
	r.log.Lines = append(r.log.Lines, string(b))
}
