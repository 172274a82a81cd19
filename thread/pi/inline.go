package pi

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// An inline reads a subagent that has no session of its own: the tool's example
// extension records its messages in the result of the call that started it.
type inline struct {
	session session
	span    jsonl.Span // of the record in the session
	state   thread.State
	started time.Time
}

// inlines records the subagents in the result of a call.
func (s *scanner) inlines(message jsonl.Value, span func(jsonl.Value) jsonl.Span, at time.Time, line int) {
	for c := message.Get("details", "results").Elements(); c.Next(); {
		v := c.Value()
		name, code := v.Get("agent").Text(), v.Get("exitCode")
		if name == "" || code.Kind() != jsonl.Number || v.Get("usage").Kind() != jsonl.Object {
			continue // a result of another tool
		}
		status, reason := thread.Completed, string(v.Get("stopReason").Raw())
		if code.Int() != 0 || reason == "error" || reason == "aborted" {
			status = thread.Errored
		}
		evidence := strings.TrimSpace(fmt.Sprintf("exit code %d %s", code.Int(), reason))
		a := &subagent{Agent: thread.Agent{ID: s.inlineID(name), Name: name,
			Evidence: []string{"the result of a call of the parent contains its messages"}}}
		s.subagents = append(s.subagents, a)
		a.State = thread.ReadState(status, thread.Parent, at, "%s, line %d", evidence, line)
		a.AddEvent(at, "subagent", name+" ended with "+evidence)
		a.inline = &inline{span: span(v), state: a.State}
		if t := v.Get("messages").Elements(); t.Next() {
			a.inline.started = t.Value().Get("timestamp").Timestamp()
		}
	}
}

// inlineID returns the ID of a subagent without a session: its name, with a number
// from the second one on.
func (s *scanner) inlineID(name string) string {
	id := name
	for s.inlined[id] > 0 {
		s.inlined[name]++
		id = fmt.Sprintf("%s-%d", name, s.inlined[name])
	}
	s.inlined[id]++
	return id
}

// thread returns the thread of a subagent of main.
func (r inline) thread(main *thread.Thread, id, name string) *thread.Thread {
	r.session = main.Reader.(*reader).session
	return &thread.Thread{
		Provider: main.Provider, ID: id, Source: main.Source, Modified: main.Modified, Started: r.started, Parent: main.ID,
		Cwd: main.Cwd, AgentName: name, Reader: &r,
	}
}

// Read implements thread.Reader.
func (r *inline) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (f thread.Facts,
	err error) {
	file, err := thread.OpenFile(r.session.path())
	if err != nil {
		return f, err
	}
	defer file.Close()
	v, err := r.span.Read(io.NewSectionReader(file, r.session.start, 1<<62-r.session.start), nil)
	if err != nil {
		return f, err
	}
	var t timeline
	t.Detail, t.Emit = detail, emit
	s := &scanner{leaf: -1}
	for c := v.Get("messages").Elements(); c.Next() && t.Err() == nil; {
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		var e entry
		m := c.Value()
		at := m.Get("timestamp").Timestamp()
		s.count(&e, nil, m, at)
		s.facts.ToolCalls += e.calls
		t.message(thread.Message{Time: at}, m)
	}
	if err := t.Finish(); err != nil {
		return f, err
	}
	s.facts.Messages, s.facts.State, s.facts.Last = t.Messages, r.state, s.last
	s.finishUsage()
	return s.facts, nil
}
