package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A message is a row, or file, with those of its parts, in order.
type message struct {
	id      string
	created int64 // as its row says; 0 where it says nothing
	data    jsonl.Value
	parts   []jsonl.Value
	omitted int // rows that are too long to be read
}

// A reader reads one thread.
type reader struct {
	session *session

	seen []*sighting // what the last Read saw of subagents
}

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
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
		case errors.Is(err, errChanged) && !emitted && attempt < patience:
			continue
		case errors.Is(err, errChanged):
			s.damaged(err.Error())
		case err != nil:
			return thread.Facts{}, err
		}
		if err := s.finish(); err != nil {
			return thread.Facts{}, err
		}
		r.seen = s.agents
		return s.facts, nil
	}
}

// A scanner goes through the messages of a thread.
type scanner struct {
	session *session

	facts    thread.Facts
	timeline thread.Timeline
	turn     turn
	spend    spend
	agents   []*sighting
	broken   bool   // not all was read
	omitted  int    // rows and files
	copied   int    // messages that are older than the session
	compact  string // the message that asked for a compaction whose summary is awaited
	at       time.Time
}

func (s *scanner) warn(text string) { s.facts.Warnings = append(s.facts.Warnings, text) }

func (s *scanner) damaged(what string) {
	s.broken = true
	s.warn(what)
}

// message reads one message. Those that are older than their session were
// copied when it was forked: copies keep their times.
func (s *scanner) message(m message) error {
	s.facts.Lines += 1 + len(m.parts)
	s.omitted += m.omitted
	if !whole(m.data) {
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
	s.at, s.timeline.Inherited = clock(created), inherited
	if m.id == s.session.reverted && m.id != "" {
		s.timeline.Add(thread.Message{Role: thread.Note, Text: "What follows was undone.", Time: clock(s.session.updated)})
	}
	role := thread.Role(m.data.Get("role").Raw())
	c := s.content(m, role, inherited)
	if !inherited {
		s.saw(created)
		s.saw(m.data.Get("time", "completed").Int())
		s.turn.message(m, role, c)
	}
	s.show(m, role, c)
	if tokens, spent := c.tokens(m.data, role); spent {
		s.spend.add(m.data, tokens, inherited)
		s.timeline.Spent(tokens)
	}
	return s.timeline.Err()
}

// show adds a message to the timeline. One that says nothing is none: what it
// did and spent belongs to the one before.
func (s *scanner) show(m message, role thread.Role, c content) {
	entry := thread.Message{ID: m.id, Role: role, Text: strings.Join(c.texts, "\n\n"), Time: s.at}
	if role == thread.Assistant {
		entry.Model = model(m.data)
	}
	summary := s.compact != "" && role == thread.Assistant && (m.data.Get("summary").True() || m.data.Get("parentID").Is(s.compact))
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
		s.timeline.Call(call)
	}
}

// compacted adds a compaction whose summary did not follow.
func (s *scanner) compacted() {
	if s.compact != "" {
		s.timeline.Add(thread.Message{Role: thread.Compaction, Text: thread.Unsaid, Time: s.at})
	}
	s.compact = ""
}

func (s *scanner) saw(ms int64) {
	if t := clock(ms); t.After(s.facts.Last) {
		s.facts.Last = t
	}
}

// finish returns the facts once all messages were read.
func (s *scanner) finish() error {
	s.compacted()
	if err := s.timeline.Finish(); err != nil {
		return err
	}
	s.facts.Messages, s.facts.ToolCalls = s.timeline.Messages, s.timeline.ToolCalls
	if s.facts.BadLines > 0 {
		s.warn(fmt.Sprintf("%d messages or parts are no JSON objects and were left out", s.facts.BadLines))
	}
	if s.omitted > 0 {
		s.warn(fmt.Sprintf("%d messages or parts are longer than %d MiB and were left out", s.omitted, jsonl.MaxLine>>20))
	}
	if s.copied > 0 {
		s.warn(fmt.Sprintf("%d messages are older than the thread: they were copied when it was forked from another, which is not named", s.copied))
	}
	s.facts.State = s.turn.end()
	if s.broken && s.facts.State.Status.Ended() {
		s.facts.State = thread.State{Status: thread.Running, Source: thread.Inferred, Evidence: "what could be read ends with " + s.facts.State.Evidence + ", but not all could", At: s.facts.State.At}
	}
	s.spend.finish(s)
	return nil
}

// A content is what the parts of a message say.
type content struct {
	texts      []string
	calls      []thread.Call
	steps      []thread.Tokens // of the requests that ended
	begun      int             // requests
	open       []string        // calls that have not ended, by name
	compaction bool
}

func (c *content) say(text string) {
	if text = strings.TrimSpace(text); text != "" {
		c.texts = append(c.texts, text)
	}
}

func (s *scanner) content(m message, role thread.Role, inherited bool) (c content) {
	for _, p := range m.parts {
		if p == nil {
			continue // omitted
		}
		if !whole(p) {
			s.facts.BadLines++
			continue
		}
		switch string(p.Get("type").Raw()) {
		case "text":
			// What the tool puts into a message in the user's name is marked.
			if !p.Get("synthetic").True() && !p.Get("ignored").True() {
				c.say(p.Get("text").Text())
			}
		case "reasoning":
			c.say(p.Get("text").Text())
		case "file":
			if name := cmp.Or(p.Get("filename").Text(), p.Get("mime").Text()); role == thread.User && name != "" {
				c.say("[" + name + "]")
			}
		case "subtask":
			c.say(cmp.Or(p.Get("prompt").Text(), p.Get("description").Text()))
		case "tool":
			s.call(p, &c, inherited)
		case "step-start":
			c.begun++
		case "step-finish":
			c.steps = append(c.steps, vector(p))
		case "compaction":
			c.compaction = true
		}
	}
	return c
}

func (s *scanner) call(p jsonl.Value, c *content, inherited bool) {
	state := p.Get("state")
	status := state.Get("status").Raw()
	call := thread.Call{ID: p.Get("callID").Text(), Name: p.Get("tool").Text(), Time: clock(state.Get("time", "start").Int())}
	call.Agent = child(p)
	switch string(status) {
	case "pending", "running":
		call.Pending = true
		c.open = append(c.open, call.Name)
	case "error":
		call.Failed = true
	}
	// A command that failed is a call that went well; a call of no tool, too.
	if state.Get("metadata", "exit").Int() != 0 || call.Name == "invalid" {
		call.Failed = true
	}
	if s.timeline.Detail == thread.Tools {
		call.Input = thread.Clip(string(state.Get("input")))
		call.Output = thread.Clip(cmp.Or(state.Get("output").Text(), state.Get("error").Text()))
	}
	if !inherited {
		s.called(p, call)
		s.saw(state.Get("time", "start").Int())
		s.saw(state.Get("time", "end").Int())
	}
	c.calls = append(c.calls, call)
}

// model is the model that wrote a message; some versions kept it apart.
func model(v jsonl.Value) string {
	return cmp.Or(v.Get("modelID").Text(), v.Get("model", "modelID").Text())
}
