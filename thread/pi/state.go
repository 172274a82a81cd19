package pi

import (
	"fmt"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// state returns the state of a thread from the last message of its branch.
func (s *scanner) state(path []int) thread.State {
	for _, i := range path {
		v, err := s.timeline.spans.Read(s.entries[i].Span)
		if err != nil {
			break
		}
		st, ok := messageState(v.Get("message"))
		if !ok {
			continue
		}
		st.Source, st.Evidence = thread.Child, fmt.Sprintf("%s, line %d", st.Evidence, s.entries[i].line)
		if st.At = v.Get("timestamp").Time(); st.At.IsZero() {
			st.At = s.last
		}
		return st
	}
	return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "no messages yet", At: s.last}
}

// messageState returns the state of a thread whose last message is v. ok is false
// if the message has no effect on it.
func messageState(v jsonl.Value) (s thread.State, ok bool) {
	switch string(v.Get("role").Raw()) {
	case "user":
		return thread.State{Status: thread.Running, Evidence: "last message is from the user"}, true
	case "toolResult":
		return thread.State{Status: thread.Running, Evidence: "the result of a call has no answer yet"}, true
	case "assistant":
		return answer(v), true
	}
	return s, false
}

func answer(v jsonl.Value) thread.State {
	s := thread.State{Status: thread.Completed, Evidence: "stopReason " + string(v.Get("stopReason").Raw())}
	switch string(v.Get("stopReason").Raw()) {
	case "toolUse":
		s.Status = thread.Running
	case "aborted":
		s.Status, s.Evidence = thread.Errored, "interrupted: stopReason aborted"
	case "error":
		s.Status, s.Evidence = thread.Errored, "error: "+thread.Brief(v.Get("errorMessage").Text())
	case "stop", "length":
	default:
		s.Evidence = "an answer without calls"
		for c := v.Get("content").Elements(); c.Next(); {
			if c.Value().Get("type").Is("toolCall") {
				s.Status, s.Evidence = thread.Running, "last message has calls"
			}
		}
	}
	if s.Status == thread.Completed {
		s.Waiting = thread.WaitingFor(text(v.Get("content")))
	}
	return s
}
