package amp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread.
type reader struct{ path string }

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	d, err := readDocument(r.path)
	if err != nil {
		return thread.Facts{}, err
	}
	s := &scanner{detail: detail, emit: emit}
	s.facts.Last = d.updated
	c := d.messages.Elements()
	for c.Next() {
		if ctx.Err() != nil {
			return thread.Facts{}, ctx.Err()
		}
		if err := s.message(c.Value()); err != nil {
			return thread.Facts{}, err
		}
	}
	whole := d.whole && (c.Whole() || d.messages.Kind() != jsonl.Array)
	if err := s.finish(d, whole); err != nil {
		return thread.Facts{}, err
	}
	return s.facts, nil
}

// A scanner goes through the messages of a thread.
type scanner struct {
	detail thread.Detail
	emit   func(thread.Message) error

	facts thread.Facts
	usage thread.Usage
	state thread.State // as the last message says; without a status where it does not
	role  thread.Role  // of the last message
	n     int          // its place
	at    time.Time    // when it was written
	held  *thread.Message
}

func (s *scanner) warn(text string) { s.facts.Warnings = append(s.facts.Warnings, text) }

// message reads one message. A message of the user that holds nothing but what
// tools returned is none.
func (s *scanner) message(v jsonl.Value) error {
	s.n++
	s.facts.Lines++
	if v.Kind() != jsonl.Object {
		s.facts.BadLines++
		return nil
	}
	role := thread.Role(v.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		return nil
	}
	usage := v.Get("usage")
	s.role, s.at = role, written(v, usage)
	if s.at.After(s.facts.Last) {
		s.facts.Last = s.at
	}
	content := s.content(v.Get("content"))
	s.turn(v, role, content)
	m := thread.Message{ID: string(v.Get("messageId")), Role: role, Text: strings.Join(content.texts, "\n\n"), Time: s.at}
	if v.Get("messageId").Kind() == jsonl.String {
		m.ID = v.Get("messageId").Text()
	}
	tokens, spent := s.spent(usage, role)
	if role == thread.Assistant {
		m.Model = usage.Get("model").Text()
	}
	return s.show(m, content, tokens, spent)
}

// written is when a message was: users send it, usage has the time of an answer.
func written(v, usage jsonl.Value) time.Time {
	for _, at := range []jsonl.Value{v.Get("timestamp"), v.Get("meta", "sentAt"), usage.Get("timestamp")} {
		if t := clock(at); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

func (s *scanner) spent(u jsonl.Value, role thread.Role) (thread.Tokens, bool) {
	if role != thread.Assistant || u.Kind() != jsonl.Object {
		return thread.Tokens{}, false
	}
	n := func(name string) int64 { return min(max(0, u.Get(name).Int()), 1<<50) }
	t := thread.Tokens{
		Input: n("inputTokens"), CacheRead: n("cacheReadInputTokens"), CacheWrite: n("cacheCreationInputTokens"), Output: n("outputTokens"), Calls: 1,
	}
	s.usage.Add("", u.Get("model").Text(), t)
	return t, true
}

// A content is what a message holds.
type content struct {
	texts   []string
	calls   []thread.Call
	blocked bool // a result waits for a person
}

func (s *scanner) content(v jsonl.Value) (c content) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			c.texts = append(c.texts, text)
		}
	}
	add(v.Text())
	for e := v.Elements(); e.Next(); {
		v := e.Value()
		switch string(v.Get("type").Raw()) {
		case "text":
			add(v.Get("text").Text())
		case "thinking":
			add(v.Get("thinking").Text())
		case "image":
			add("[image]")
		case "tool_use":
			call := thread.Call{ID: v.Get("id").Text(), Name: v.Get("name").Text(), Pending: true, Time: s.at}
			if s.detail == thread.Tools {
				call.Input = thread.Clip(string(v.Get("input")))
			}
			c.calls = append(c.calls, call)
			s.facts.ToolCalls++
		case "tool_result":
			c.blocked = v.Get("run", "status").Is("blocked-on-user") || c.blocked
			s.returned(v)
		}
	}
	return c
}

// returned notes what a tool returned to the message before.
func (s *scanner) returned(v jsonl.Value) {
	if s.held == nil || s.detail < thread.Tools {
		return
	}
	id, run := v.Get("toolUseID"), v.Get("run")
	for i := range s.held.Tools {
		c := &s.held.Tools[i]
		if c.ID == "" || !id.Is(c.ID) {
			continue
		}
		switch string(run.Get("status").Raw()) {
		case "queued", "in-progress", "blocked-on-user":
			return
		case "error", "cancelled", "rejected-by-user":
			c.Failed = true
		}
		c.Pending = false
		c.Output = thread.Clip(source(run.Get("result")))
		if c.Output == "" {
			c.Output = thread.Clip(source(run.Get("error")))
		}
	}
}

// source returns a string as it is meant and anything else as JSON.
func source(v jsonl.Value) string {
	if v.Kind() == jsonl.String {
		return v.Text()
	}
	return string(v)
}

// show adds a message to the timeline. One that says nothing is none: what it
// did and spent belongs to the one before.
func (s *scanner) show(m thread.Message, c content, tokens thread.Tokens, spent bool) error {
	if s.detail == thread.Summary {
		return nil
	}
	if m.Text != "" {
		if err := s.flush(); err != nil {
			return err
		}
		s.facts.Messages++
		m.N = s.facts.Messages
		s.held = &m
	}
	if s.held == nil && len(c.calls) > 0 {
		s.held = &thread.Message{Role: thread.Assistant, Time: m.Time}
	}
	if s.held == nil {
		return nil
	}
	if s.detail == thread.Tools {
		s.held.Tools = append(s.held.Tools, c.calls...)
	}
	if spent {
		if s.held.Usage == nil {
			s.held.Usage = new(thread.Tokens)
		}
		s.held.Usage.Add(tokens)
	}
	return nil
}

func (s *scanner) flush() error {
	m := s.held
	s.held = nil
	if m == nil || m.N == 0 && len(m.Tools) == 0 || s.emit == nil {
		return nil
	}
	return s.emit(*m)
}

// turn follows where the thread stands.
func (s *scanner) turn(v jsonl.Value, role thread.Role, c content) {
	set := func(status thread.Status, why string) {
		s.state = thread.State{Status: status, Source: thread.Child, Evidence: fmt.Sprintf("%s, message %d", why, s.n), At: s.at}
	}
	s.state = thread.State{}
	if role == thread.User {
		if v.Get("messageId").Kind() == jsonl.Absent {
			return // versions that number messages also say where they stand
		}
		set(thread.Running, "no answer yet")
		if c.blocked {
			s.state.Waiting = "approval of a tool call"
		}
		return
	}
	state := v.Get("state")
	stop := state.Get("stopReason").Text()
	switch kind := state.Get("type").Text(); {
	case kind == "":
	case kind == "complete" && stop == "tool_use":
		set(thread.Running, "stopReason is tool_use")
	case kind == "complete" && (stop == "max_tokens" || stop == "refusal"):
		set(thread.Errored, "stopReason is "+stop)
	case kind == "complete":
		set(thread.Completed, "stopReason is "+stop)
	case kind == "cancelled", kind == "error":
		set(thread.Errored, "state is "+kind)
	default:
		set(thread.Running, "state is "+kind)
	}
}

// words are the statuses that some versions wrote for the whole thread.
var words = map[string]thread.Status{
	"running": thread.Running, "completed": thread.Completed, "done": thread.Completed,
	"error": thread.Errored, "errored": thread.Errored, "failed": thread.Errored, "cancelled": thread.Errored,
}

// end returns the state once all messages were seen: the last message's word
// before the document's.
func (s *scanner) end(d document) thread.State {
	if s.state.Status != "" {
		return s.state
	}
	for _, v := range []jsonl.Value{d.status, d.state} {
		word := v.Text()
		if c := v.Members(); c.Next() {
			word = c.Key()
		}
		if status := words[strings.ToLower(word)]; status != "" {
			return thread.State{Status: status, Source: thread.Child, Evidence: "the thread says it is " + word, At: d.updated}
		}
	}
	switch s.role {
	case thread.User:
		return thread.State{Status: thread.Running, Source: thread.Inferred, Evidence: "the last word is the user's", At: s.at}
	case thread.Assistant:
		return thread.State{Status: thread.Completed, Source: thread.Inferred, Evidence: "the last word is the agent's, and this version records no end of a turn", At: s.at}
	}
	return thread.State{Status: thread.PendingInit, Source: thread.Inferred, Evidence: "it has no messages", At: d.created}
}

// finish returns the facts once all messages were read.
func (s *scanner) finish(d document, whole bool) error {
	if err := s.flush(); err != nil {
		return err
	}
	s.facts.State = s.end(d)
	if s.facts.BadLines > 0 {
		s.warn(fmt.Sprintf("%d messages are no JSON objects and were left out", s.facts.BadLines))
	}
	if !whole {
		s.warn("the file is cut off: it may be written right now")
		if s.facts.State.Status.Ended() || s.facts.State.Status == thread.PendingInit {
			s.facts.State = thread.State{Status: thread.Running, Source: thread.Inferred, Evidence: "what could be read ends with " + s.facts.State.Evidence + ", but the file is cut off", At: s.facts.State.At}
		}
	}
	s.usage.Completeness, s.usage.Reason = thread.LowerBound, "what Amp's oracle and other subagents spent is not on this machine"
	if s.usage.Calls == 0 {
		s.usage.Completeness, s.usage.Reason = thread.NoUsage, "no usage is recorded"
	}
	s.facts.Usage = s.usage
	return nil
}
