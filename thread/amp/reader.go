package amp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
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
	s := &scanner{timeline: thread.Timeline{Detail: detail, Emit: emit}}
	s.facts.Last = d.updated
	c := d.messages.Elements()
	for c.Next() && s.timeline.Err() == nil {
		if ctx.Err() != nil {
			return thread.Facts{}, ctx.Err()
		}
		s.message(c.Value())
	}
	whole := d.whole && (c.Whole() || d.messages.Kind() != jsonl.Array)
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.finish(d, whole)
	return s.facts, nil
}

// A scanner goes through the messages of a thread.
type scanner struct {
	facts    thread.Facts
	timeline thread.Timeline
	usage    thread.Usage
	state    thread.State // as the last message says; without a status where it does not
	role     thread.Role  // of the last message
	n        int          // its place
	at       time.Time    // when it was written
}

func (s *scanner) warn(text string) { s.facts.Warnings = append(s.facts.Warnings, text) }

// message reads one message. One that says nothing is none: what it did and
// spent belongs to the one before.
func (s *scanner) message(v jsonl.Value) {
	s.n++
	s.facts.Lines++
	if v.Kind() != jsonl.Object {
		s.facts.BadLines++
		return
	}
	role := thread.Role(v.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		return
	}
	usage := v.Get("usage")
	s.role, s.at = role, written(v, usage)
	if s.at.After(s.facts.Last) {
		s.facts.Last = s.at
	}
	content := s.content(v.Get("content"))
	s.turn(v, role, content)
	m := thread.Message{ID: v.Get("messageId").Plain(), Role: role, Text: strings.Join(content.texts, "\n\n"), Time: s.at}
	if role == thread.Assistant {
		m.Model = usage.Get("model").Text()
	}
	s.timeline.Add(m)
	for _, call := range content.calls {
		s.timeline.Call(call)
	}
	if role == thread.Assistant && usage.Kind() == jsonl.Object {
		s.spent(usage)
	}
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

func (s *scanner) spent(u jsonl.Value) {
	n := func(name string) int64 { return min(max(0, u.Get(name).Int()), 1<<50) }
	t := thread.Tokens{
		Input: n("inputTokens"), CacheRead: n("cacheReadInputTokens"), CacheWrite: n("cacheCreationInputTokens"), Output: n("outputTokens"), Calls: 1,
	}
	s.usage.Add("", u.Get("model").Text(), t)
	s.timeline.Spent(t)
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
			if s.timeline.Detail == thread.Tools {
				call.Input = thread.Clip(string(v.Get("input")))
			}
			c.calls = append(c.calls, call)
		case "tool_result":
			c.blocked = v.Get("run", "status").Is("blocked-on-user") || c.blocked
			s.returned(v.Get("toolUseID").Text(), v.Get("run"))
		}
	}
	return c
}

// returned notes what a tool returned.
func (s *scanner) returned(id string, run jsonl.Value) {
	status := string(run.Get("status").Raw())
	if status == "queued" || status == "in-progress" || status == "blocked-on-user" || !s.timeline.Awaits(id) {
		return
	}
	s.timeline.Returned(id, func(c *thread.Call) {
		c.Failed = status == "error" || status == "cancelled" || status == "rejected-by-user"
		c.Output = thread.Clip(cmp.Or(run.Get("result").Plain(), run.Get("error").Plain()))
	})
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
func (s *scanner) finish(d document, whole bool) {
	s.facts.Messages, s.facts.ToolCalls, s.facts.State = s.timeline.Messages, s.timeline.ToolCalls, s.end(d)
	if s.facts.BadLines > 0 {
		s.warn(fmt.Sprintf("%d messages are no JSON objects and were left out", s.facts.BadLines))
	}
	if !whole {
		s.warn("the file is cut off: it may be written right now")
		if s.facts.State.Status.Ended() || s.facts.State.Status == thread.PendingInit {
			s.facts.State = thread.State{Status: thread.Running, Source: thread.Inferred, Evidence: "what could be read ends with " + s.facts.State.Evidence + ", but the file is cut off", At: s.facts.State.At}
		}
	}
	s.usage.Judge(thread.Gap{N: 1, Why: "what Amp's oracle and other subagents spent is not on this machine"})
	s.facts.Usage = s.usage
}
