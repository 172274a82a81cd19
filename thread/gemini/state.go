package gemini

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// state tells where a thread stands. No record ends a turn, but an answer that
// calls no tool does, so the newest record that says anything decides.
func (l *log) state(spans *jsonl.Spans) thread.State {
	for n := len(l.order) - 1; n >= 0; n-- {
		r := l.records[l.order[n]]
		v, err := spans.Read(r.Span)
		if err != nil {
			break
		}
		s, ok := judge(v)
		if !ok {
			continue
		}
		s.Source, s.Evidence = cmp.Or(s.Source, thread.Child), fmt.Sprintf("%s, %s", s.Evidence, l.where(r))
		if s.At = v.Get("timestamp").Time(); s.At.IsZero() {
			s.At = l.last
		}
		return s
	}
	return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "nobody has said anything yet", At: l.last}
}

func (l *log) where(r record) string {
	if l.document {
		return fmt.Sprintf("message %d", r.line)
	}
	return fmt.Sprintf("line %d", r.line)
}

// judge says what a record, if it is the last, means for the thread. Evidence is
// the record in words; ok is false where it means nothing.
func judge(v jsonl.Value) (s thread.State, ok bool) {
	content := v.Get("content")
	kind := string(v.Get("type").Raw())
	switch {
	case kind == "error":
		return thread.State{Status: thread.Errored, Evidence: "error: " + thread.Brief(said(v))}, true
	case kind == "info" && bytes.HasPrefix(content.Raw(), cancelled):
		return thread.State{Status: thread.Errored, Evidence: "interrupted: the request was cancelled"}, true
	case kind == "info" && bytes.HasPrefix(content.Raw(), failed):
		return thread.State{Status: thread.Errored, Evidence: "the request failed"}, true
	case roles[kind] == thread.Assistant:
		return answer(v), true
	case roles[kind] != thread.User:
		return s, false
	}
	text := said(v)
	switch {
	case bytes.Contains(content, []byte(`"functionResponse"`)):
		return thread.State{Status: thread.Running, Evidence: "what tools returned has no answer yet"}, true
	case text == "" || injected(text) || strings.Contains(text, snapshot):
		return s, false
	}
	return thread.State{Status: thread.Running, Evidence: "what the user said has no answer yet"}, true
}

// answer judges what a model wrote.
func answer(v jsonl.Value) thread.State {
	calls, gone, waiting := 0, 0, ""
	for c := v.Get("toolCalls").Elements(); c.Next(); calls++ {
		switch string(c.Value().Get("status").Raw()) {
		case "cancelled":
			gone++
		case "awaiting_approval":
			waiting = "approval of " + c.Value().Get("name").Text()
		}
	}
	text := said(v)
	switch {
	case calls > 0 && gone == calls:
		return thread.State{Status: thread.Errored, Evidence: "interrupted: its calls were cancelled"}
	case calls > 0:
		return thread.State{Status: thread.Running, Evidence: "a message with calls, which nothing follows", Waiting: waiting}
	case text == "":
		return thread.State{Status: thread.Running, Evidence: "a message that is still empty"}
	}
	// A call is written once it has run, so that nothing says that this is all.
	return thread.State{Status: thread.Completed, Source: thread.Inferred, Evidence: "an answer without calls so far", Waiting: thread.Asks(text)}
}
