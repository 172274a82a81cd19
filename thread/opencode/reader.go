package opencode

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A message is the row or file of a message, with its parts in order.
type message struct {
	id      string
	created int64 // in its row; 0 if missing
	data    jsonl.Value
	parts   []jsonl.Value
	omitted int // number of rows that are too long
}

// A reader reads one thread.
type reader struct {
	session *session

	agents []*thread.Agent // found by the last Read
}

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	emitted := false
	out := func(m thread.Message) error {
		emitted = true
		if emit == nil {
			return nil
		}
		return emit(m)
	}
	for attempt := 1; ; attempt++ {
		s := &scanner{session: r.session, timeline: thread.Timeline{Detail: detail, Emit: out}}
		err := r.session.store.messages(ctx, r.session, s.damaged, s.message)
		switch {
		case errors.Is(err, errChanged) && !emitted && attempt < maxAttempts:
			continue
		case errors.Is(err, errChanged):
			s.damaged(err.Error())
		case err != nil:
			return thread.Facts{}, err
		}
		if err := s.finish(); err != nil {
			return thread.Facts{}, err
		}
		r.agents = s.agents
		return s.facts, nil
	}
}

// A scanner reads the messages of a thread.
type scanner struct {
	session *session

	facts    thread.Facts
	timeline thread.Timeline
	turn     turn
	meter    thread.Meter
	agents   []*thread.Agent
	broken   bool   // part of the thread could not be read
	omitted  int    // rows and files that are too long
	copied   int    // messages that are older than the session
	compact  string // message that requested a compaction whose summary did not follow yet
	at       time.Time
}

func (s *scanner) damaged(what string) {
	s.broken = true
	s.facts.Warn("%s", what)
}

// message reads one message. A message that is older than its session was copied
// when the session was forked.
func (s *scanner) message(m message) error {
	s.facts.Lines += 1 + len(m.parts)
	s.omitted += m.omitted
	if !isObject(m.data) {
		if m.omitted == 0 {
			s.facts.BadLines++
		}
		return nil
	}
	created := m.data.Get("time", "created").Int()
	if created <= 0 {
		created = m.created
	}
	inherited := created > 0 && created < s.session.created
	if inherited {
		s.copied++
	}
	s.at, s.timeline.Inherited = jsonl.Milliseconds(created), inherited
	if m.id == s.session.reverted && m.id != "" {
		s.timeline.Add(thread.Message{Role: thread.Note, Text: "The following messages were undone.",
			Time: jsonl.Milliseconds(s.session.updated)})
	}
	role := thread.Role(m.data.Get("role").Raw())
	c := s.content(m, role, inherited)
	if !inherited {
		s.saw(created)
		s.saw(m.data.Get("time", "completed").Int())
		s.turn.message(m, role, c)
	}
	s.show(m, role, c)
	s.meter.CheckCounts(m.data.Get("tokens"))
	if tokens, ok := c.tokens(m.data, role); ok {
		s.meter.N, s.meter.At = s.timeline.Messages, s.at
		s.meter.Add(cmp.Or(m.data.Get("providerID").Text(), m.data.Get("model", "providerID").Text()), model(m.data), tokens,
			inherited)
		s.timeline.AddUsage(tokens)
	}
	return s.timeline.Err()
}

// show adds a message to the timeline. Calls and usage of a message without text
// belong to the message before.
func (s *scanner) show(m message, role thread.Role, c content) {
	entry := thread.Message{ID: m.id, Role: role, Text: strings.Join(c.texts, "\n\n"), Time: s.at}
	if role == thread.Assistant {
		entry.Model = model(m.data)
	}
	summary := s.compact != "" && role == thread.Assistant &&
		(m.data.Get("summary").True() || m.data.Get("parentID").Is(s.compact))
	if summary && entry.Text != "" {
		entry.Role, s.compact = thread.Compaction, ""
	}
	s.compacted()
	if entry.Role == thread.User || entry.Role == thread.Assistant || entry.Role == thread.Compaction {
		s.timeline.Add(entry)
	}
	if c.compaction {
		s.compact = m.id
	}
	for _, call := range c.calls {
		s.timeline.AddCall(call)
	}
}

// compacted adds a compaction without a summary.
func (s *scanner) compacted() {
	if s.compact != "" {
		s.timeline.Add(thread.Message{Role: thread.Compaction, Text: thread.DefaultCompactionText, Time: s.at})
	}
	s.compact = ""
}

func (s *scanner) saw(ms int64) {
	if t := jsonl.Milliseconds(ms); t.After(s.facts.Last) {
		s.facts.Last = t
	}
}

// finish sets the facts after all messages have been read.
func (s *scanner) finish() error {
	s.compacted()
	if err := s.timeline.Finish(); err != nil {
		return err
	}
	s.facts.Messages, s.facts.ToolCalls = s.timeline.Messages, s.timeline.ToolCalls
	if s.facts.BadLines > 0 {
		s.facts.Warn("skipped %d malformed messages or parts", s.facts.BadLines)
	}
	if s.omitted > 0 {
		s.facts.Warn("skipped %d messages or parts longer than %d MiB", s.omitted, jsonl.MaxLine>>20)
	}
	if s.copied > 0 {
		s.facts.Warn("%d messages are older than the thread: it was forked from a thread that is not recorded", s.copied)
	}
	if s.facts.Last.IsZero() {
		s.facts.Last = jsonl.Milliseconds(s.session.updated)
	}
	s.facts.State = s.turn.end()
	if s.broken && s.facts.State.Status.Ended() {
		s.facts.State = thread.ReadState(thread.Running, thread.Inferred, s.facts.State.At,
			"part of the thread can't be read; the rest ends with: %s", s.facts.State.Evidence)
	}
	s.finishUsage()
	return nil
}

// A content is the content of the parts of a message.
type content struct {
	texts      []string
	calls      []thread.Call
	steps      []thread.Tokens // usage of the requests that ended
	started    int             // requests
	open       []string        // names of the calls that have not ended
	compaction bool
}

func (c *content) add(text string) {
	if text = strings.TrimSpace(text); text != "" {
		c.texts = append(c.texts, text)
	}
}

func (s *scanner) content(m message, role thread.Role, inherited bool) (c content) {
	for _, p := range m.parts {
		if p == nil {
			continue // omitted
		}
		if !isObject(p) {
			s.facts.BadLines++
			continue
		}
		switch string(p.Get("type").Raw()) {
		case "text":
			// Texts that the tool adds to a message of the user are marked.
			if !p.Get("synthetic").True() && !p.Get("ignored").True() {
				c.add(p.Get("text").Text())
			}
		case "reasoning":
			c.add(p.Get("text").Text())
		case "file":
			if name := cmp.Or(p.Get("filename").Text(), p.Get("mime").Text()); role == thread.User && name != "" {
				c.add("[" + name + "]")
			}
		case "subtask":
			c.add(cmp.Or(p.Get("prompt").Text(), p.Get("description").Text()))
		case "tool":
			s.call(p, &c, inherited)
		case "step-start":
			c.started++
		case "step-finish":
			s.meter.CheckCounts(p.Get("tokens"))
			c.steps = append(c.steps, tokens(p))
		case "compaction":
			c.compaction = true
		}
	}
	return c
}

func (s *scanner) call(p jsonl.Value, c *content, inherited bool) {
	state := p.Get("state")
	status := state.Get("status").Raw()
	call := thread.Call{ID: p.Get("callID").Text(), Name: p.Get("tool").Text(),
		Time: jsonl.Milliseconds(state.Get("time", "start").Int())}
	call.Agent = child(p)
	call.End(jsonl.Milliseconds(state.Get("time", "end").Int()))
	switch string(status) {
	case "pending", "running":
		call.Pending = true
		c.open = append(c.open, call.Name)
	case "error":
		call.Failed = true
	}
	// The status is not error for a failed command and for a call of an unknown tool.
	exit := state.Get("metadata", "exit")
	if exit.Kind() == jsonl.Number {
		call.Exit = new(int(exit.Int()))
	}
	if exit.Int() != 0 || call.Name == "invalid" {
		call.Failed = true
	}
	if s.timeline.Detail == thread.Tools {
		call.Input = thread.Clip(string(state.Get("input")))
		call.SetOutput(cmp.Or(state.Get("output").Text(), state.Get("error").Text()))
	}
	if !inherited {
		s.called(p, call)
		s.saw(state.Get("time", "start").Int())
		s.saw(state.Get("time", "end").Int())
	}
	c.calls = append(c.calls, call)
}

// model returns the model that wrote a message.
func model(v jsonl.Value) string {
	return cmp.Or(v.Get("modelID").Text(), v.Get("model", "modelID").Text())
}
