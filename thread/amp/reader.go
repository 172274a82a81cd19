package amp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread.
type reader struct{ path string }

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	s := &scanner{timeline: thread.Timeline{Detail: detail, Emit: emit}}
	d, err := readDocument(ctx, r.path, func(v jsonl.Value, e jsonl.Element) error {
		if e.Short {
			s.facts.Warn("message %d is longer than %d MiB: shortened", e.N, jsonl.MaxLine>>20)
		}
		s.message(v)
		return s.timeline.Err()
	})
	if err != nil {
		return thread.Facts{}, err
	}
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.finish(d)
	return s.facts, nil
}

// A scanner reads the messages of a thread.
type scanner struct {
	facts    thread.Facts
	timeline thread.Timeline
	meter    thread.Meter
	state    thread.State // of the last message, if it has one
	role     thread.Role  // of the last message
	n        int          // its number
	at       time.Time    // its time
}

// message reads one message. Calls and usage of a message without text belong to
// the message before.
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
	s.role, s.at = role, clock(v.Get("timestamp"), v.Get("meta", "sentAt"), usage.Get("timestamp"))
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
		s.timeline.AddCall(call)
	}
	if role == thread.Assistant && usage.Kind() == jsonl.Object {
		s.addUsage(usage)
	}
}

func (s *scanner) addUsage(u jsonl.Value) {
	n := func(name string) int64 { return u.Get(name).Count() }
	t := thread.Tokens{
		Input: n("inputTokens"), CacheRead: n("cacheReadInputTokens"), CacheWrite: n("cacheCreationInputTokens"),
		Output: n("outputTokens"), Calls: 1,
	}
	s.meter.CheckCounts(u)
	s.meter.N, s.meter.At = s.timeline.Messages, s.at
	s.meter.Add("", u.Get("model").Text(), t, false)
	s.timeline.AddUsage(t)
}

// A content is the content of a message.
type content struct {
	texts   []string
	calls   []thread.Call
	blocked bool // a call waits for a person
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
			s.result(v.Get("toolUseID").Text(), v.Get("run"))
		}
	}
	return c
}

// result reads the result of a call.
func (s *scanner) result(id string, run jsonl.Value) {
	status := string(run.Get("status").Raw())
	if status == "queued" || status == "in-progress" || status == "blocked-on-user" || !s.timeline.Awaits(id) {
		return
	}
	s.timeline.SetResult(id, func(c *thread.Call) {
		c.Failed = status == "error" || status == "cancelled" || status == "rejected-by-user"
		c.Output = thread.Clip(cmp.Or(run.Get("result").Plain(), run.Get("error").Plain()))
	})
}

// turn tracks the status of the thread.
func (s *scanner) turn(v jsonl.Value, role thread.Role, c content) {
	set := func(status thread.Status, reason string) {
		s.state = thread.ReadState(status, thread.Child, s.at, "%s, message %d", reason, s.n)
	}
	s.state = thread.State{}
	if role == thread.User {
		if v.Get("messageId").Kind() == jsonl.Absent {
			return // only versions that number messages record their state
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

// words are the statuses that some versions record for the thread.
var words = map[string]thread.Status{
	"running": thread.Running, "completed": thread.Completed, "done": thread.Completed,
	"error": thread.Errored, "errored": thread.Errored, "failed": thread.Errored, "cancelled": thread.Errored,
}

// end returns the state after the last message: of that message, else of the
// document.
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
			return thread.ReadState(status, thread.Child, d.updated, "status of the thread is %s", word)
		}
	}
	switch s.role {
	case thread.User:
		return thread.ReadState(thread.Running, thread.Inferred, s.at, "last message is from the user")
	case thread.Assistant:
		return thread.ReadState(thread.Completed, thread.Inferred, s.at,
			"last message is from the agent, and this version does not record the end of a turn")
	}
	return thread.ReadState(thread.PendingInit, thread.Inferred, d.created, "no messages yet")
}

// finish sets the facts after all messages have been read.
func (s *scanner) finish(d document) {
	if d.updated.After(s.facts.Last) {
		s.facts.Last = d.updated
	}
	s.facts.Messages, s.facts.ToolCalls, s.facts.State = s.timeline.Messages, s.timeline.ToolCalls, s.end(d)
	if d.id == "" && s.n == 0 && d.complete {
		s.facts.WarnUnknown()
	}
	if s.facts.BadLines > 0 {
		s.facts.Warn("skipped %d malformed messages", s.facts.BadLines)
	}
	if s.facts.Partial = !d.complete; s.facts.Partial {
		s.facts.Warn("the document is incomplete: it may still be written")
	}
	s.meter.Finish(&s.facts, thread.Gap{N: 1,
		Reason: "the usage of Amp's oracle and other subagents is not on this machine"})
}
