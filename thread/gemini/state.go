package gemini

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// state returns the state of a thread from the last record that has one. No record
// marks the end of a turn; an answer without calls is taken for it.
func (l *log) state(spans *jsonl.Spans) thread.State {
	if l.dropped > 0 {
		return thread.ReadState(thread.Errored, thread.Inferred, l.last,
			"the request failed: its prompt was removed, line %d", l.dropped)
	}
	for n := len(l.order) - 1; n >= 0; n-- {
		r := l.records[l.order[n]]
		v, err := spans.Read(r.Span)
		if err != nil {
			break
		}
		s, ok := recordState(v)
		if !ok {
			continue
		}
		s.Source, s.Evidence = cmp.Or(s.Source, thread.Child), s.Evidence+", "+l.position(r)
		if s.At = v.Get("timestamp").Time(); s.At.IsZero() {
			s.At = l.last
		}
		return s
	}
	return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "no messages yet", At: l.last}
}

func (l *log) position(r record) string {
	if l.document {
		return fmt.Sprintf("message %d", r.line)
	}
	return fmt.Sprintf("line %d", r.line)
}

// recordState returns the state of a thread whose last record is v. ok is false if
// the record has no effect on it.
func recordState(v jsonl.Value) (s thread.State, ok bool) {
	content := v.Get("content")
	kind := string(v.Get("type").Raw())
	switch {
	case kind == "error":
		return thread.State{Status: thread.Errored, Evidence: "error: " + thread.Brief(shownText(v))}, true
	case kind == "info" && bytes.HasPrefix(content.Raw(), cancelled):
		return thread.State{Status: thread.Errored, Evidence: "interrupted: the request was cancelled"}, true
	case kind == "info" && bytes.HasPrefix(content.Raw(), failed):
		return thread.State{Status: thread.Errored, Evidence: "the request failed"}, true
	case roles[kind] == thread.Assistant:
		return answer(v), true
	case roles[kind] != thread.User:
		return s, false
	}
	text := shownText(v)
	switch {
	case bytes.Contains(content, []byte(`"functionResponse"`)):
		return thread.State{Status: thread.Running, Evidence: "results of calls have no answer yet"}, true
	case text == "" || injected(text) || strings.Contains(text, snapshot):
		return s, false
	}
	return thread.State{Status: thread.Running, Evidence: "last message is from the user"}, true
}

// answer returns the state after an answer of the model.
func answer(v jsonl.Value) thread.State {
	calls, cancelled, waiting := 0, 0, ""
	for c := v.Get("toolCalls").Elements(); c.Next(); calls++ {
		switch string(c.Value().Get("status").Raw()) {
		case "cancelled":
			cancelled++
		case "awaiting_approval":
			waiting = "approval of " + c.Value().Get("name").Text()
		}
	}
	text := shownText(v)
	switch {
	case calls > 0 && cancelled == calls:
		return thread.State{Status: thread.Errored, Evidence: "interrupted: its calls were cancelled"}
	case calls > 0:
		return thread.State{Status: thread.Running, Evidence: "last message has calls", Waiting: waiting}
	case text == "":
		return thread.State{Status: thread.Running, Evidence: "last message is empty"}
	}
	// Calls are recorded when they have returned, so more may follow.
	return thread.State{Status: thread.Completed, Source: thread.Inferred, Evidence: "an answer without calls so far",
		Waiting: thread.WaitingFor(text)}
}
