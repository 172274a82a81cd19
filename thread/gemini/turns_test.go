package gemini_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/gemini"
)

// TestTurns truncates generated logs at every record. Every third log is that of a
// subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: gemini.Driver(), Agent: agentID,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("%08d-0000-4000-8000-%012d", n, n)
			l.Path = ".gemini/tmp/p/chats/session-2026-06-12T10-00-" + l.ID[:8] + ".jsonl"
			more := obj{}
			if n%3 == 2 {
				l.Path, more = ".gemini/tmp/p/chats/"+logID+"/"+l.ID+".jsonl", obj{"kind": "subagent"}
			}
			s := &recorder{script: begin(l.ID, more), log: l}
			s.set(obj{
				"messages": []obj{{"id": "c", "timestamp": s.stamp(), "type": "user", "content": []obj{{"text": context}}}}})
			l.Lines = s.lines
			return func(step threadtest.Step) {
				s.record(step)
				l.Lines = s.lines
			}
		}})
}

// TestDocumentTurns reads generated chats of old versions, which are one document, after
// each change. TestTruncatedDocument truncates one.
func TestDocumentTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: gemini.Driver(), Rewrites: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("%08d-0000-4000-8000-%012d", n, n)
			l.Path = ".gemini/tmp/p/chats/session-2026-01-12T10-00-" + l.ID[:8] + ".json"
			s := &recorder{script: begin(l.ID, nil), log: l, document: true}
			s.changed = func() { l.Lines = append(l.Lines, s.script.document(nil)) }
			return s.record
		}})
}

func agentID(u threadtest.Use) string { return fmt.Sprintf("helper#%d", u.N) }

// A recorder records the steps of a thread.
type recorder struct {
	*script
	log      *threadtest.Log
	document bool // which is rewritten with each change
	said     obj  // the answer whose calls are not recorded yet
	calls    []obj
}

// shows marks the records so far as showing a status that is not that of the step.
func (s *recorder) shows(status thread.Status) {
	if !s.document {
		s.log.Lines = s.lines
	}
	s.log.Shows(status)
}

func (s *recorder) record(step threadtest.Step) {
	id := fmt.Sprint("m", step.N)
	switch step.Kind {
	case threadtest.Prompt:
		s.said, s.calls = nil, nil
		s.user(id, step.Text)
	case threadtest.Work:
		s.said, s.calls = answer(id, step.Text, tokens{1, 1, 0, 0, 0}), nil
		s.model(id, step.Text, tokens{1, 1, 0, 0, 0})
		s.shows(thread.Completed) // its calls are recorded when they have returned
		for _, u := range step.Calls {
			s.calls = append(s.calls, call(u.ID, "read_file", "cancelled", "no"))
		}
	case threadtest.Result:
		s.returned(step)
	case threadtest.Answer:
		s.model(id, step.Text, tokens{1, 1, 0, 0, 0})
	case threadtest.Failure:
		s.note(id, "error", "[API Error: 400]").note(id+"-2", "info", "This request failed. Press F12 for diagnostics.")
	case threadtest.Interrupt:
		s.interrupt(id)
	case threadtest.Compaction:
		if !step.InTurn && !s.document {
			s.set(obj{"messages": []obj{
				{"id": "c", "type": "user", "content": []obj{{"text": context}}},
				{"id": id, "type": "user", "content": []obj{{"text": "<state_snapshot>" + step.Text + "</state_snapshot>"}}},
				{"id": id + "-2", "type": "gemini", "content": []obj{{"text": "Got it."}}},
			}})
		}
	}
}

// returned records a result. All calls of an answer are written when the last of them
// has returned.
func (s *recorder) returned(step threadtest.Step) {
	u := step.Calls[0]
	i := slices.IndexFunc(s.calls, func(c obj) bool { return c["id"] == u.ID })
	status := "success"
	if step.Failed {
		status = "error"
	}
	s.calls[i] = call(u.ID, "read_file", status, step.Text)
	if u.Spawns {
		ran(s.calls[i], agentID(u))
	}
	if step.Last {
		s.write()
	}
}

// write writes the calls of the last answer and, in a log, their results again.
func (s *recorder) write() {
	s.said["toolCalls"] = s.calls
	s.add(s.said)
	var parts []obj
	for _, c := range s.calls {
		parts = append(parts, c["result"].([]obj)[0])
	}
	if !s.document {
		s.add(obj{"id": fmt.Sprint(s.said["id"], "-results"), "type": "user", "content": parts})
	}
	s.said, s.calls = nil, nil
}

// interrupt writes the calls that were cancelled.
func (s *recorder) interrupt(id string) {
	if s.said != nil {
		s.said["toolCalls"] = s.calls
		s.add(s.said)
		if slices.ContainsFunc(s.calls, func(c obj) bool { return c["status"] != "cancelled" }) {
			s.shows(thread.Running)
		}
		s.said, s.calls = nil, nil
	}
	s.note(id, "info", "Request cancelled.")
}
