package opencode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/jsonl"
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

	seen *ledger // what the last Read saw of subagents; nil before
}

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	var s *scanner
	for attempt := 1; ; attempt++ {
		s = &scanner{session: r.session, detail: detail, emit: emit}
		err := r.session.store.messages(ctx, r.session, s.damaged, s.message)
		if errors.Is(err, errChanged) {
			if !s.emitted && attempt < patience {
				continue
			}
			s.damaged(err.Error())
		} else if err != nil {
			return thread.Facts{}, err
		}
		break
	}
	if err := s.finish(); err != nil {
		return thread.Facts{}, err
	}
	r.seen = &s.ledger
	return s.facts, nil
}

// A scanner goes through the messages of a thread.
type scanner struct {
	session *session
	detail  thread.Detail
	emit    func(thread.Message) error

	facts   thread.Facts
	turn    turn
	spend   spend
	ledger  ledger
	broken  bool // not all was read
	omitted int  // rows and files
	copied  int  // messages that are older than the session
	emitted bool
	held    *thread.Message // the newest; calls of what follows may belong to it
	compact string          // the message that asked for a compaction whose summary is awaited
	at      time.Time
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
	if m.id == s.session.reverted && m.id != "" {
		if err := s.add(thread.Message{Role: thread.Note, Text: "What follows was undone.", Time: clock(s.session.updated)}); err != nil {
			return err
		}
	}
	s.at = clock(created)
	role := thread.Role(m.data.Get("role").Raw())
	c := s.content(m, role, inherited)
	if !inherited {
		s.saw(created)
		s.saw(m.data.Get("time", "completed").Int())
		s.turn.message(m, role, c)
		s.facts.ToolCalls += len(c.calls)
	}
	tokens, spent := c.tokens(m.data, role)
	if spent {
		s.spend.add(m.data, tokens, inherited)
	}
	if s.detail == thread.Summary {
		return nil
	}
	return s.show(m, role, c, inherited, tokens, spent)
}

// show adds a message to the timeline. One that says nothing is none: what it
// did and spent belongs to the one before.
func (s *scanner) show(m message, role thread.Role, c content, inherited bool, tokens thread.Tokens, spent bool) error {
	entry := thread.Message{ID: m.id, Role: role, Text: strings.Join(c.texts, "\n\n"), Time: s.at, Inherited: inherited}
	if role == thread.Assistant {
		entry.Model = model(m.data)
	}
	summary := s.compact != "" && role == thread.Assistant && (m.data.Get("summary").True() || m.data.Get("parentID").Is(s.compact))
	if summary && entry.Text != "" {
		entry.Role = thread.Compaction
	} else if err := s.compacted(); err != nil {
		return err
	}
	if summary {
		s.compact = ""
	}
	if entry.Text != "" && (entry.Role == thread.User || entry.Role == thread.Assistant || entry.Role == thread.Compaction) {
		if err := s.add(entry); err != nil {
			return err
		}
	}
	if c.compaction {
		s.compact = m.id
	}
	if s.detail == thread.Tools && len(c.calls) > 0 {
		s.last(inherited).Tools = append(s.last(inherited).Tools, c.calls...)
	}
	if spent && s.held != nil {
		if s.held.Usage == nil {
			s.held.Usage = new(thread.Tokens)
		}
		s.held.Usage.Add(tokens)
	}
	return nil
}

// compacted adds a compaction whose summary did not follow.
func (s *scanner) compacted() error {
	if s.compact == "" {
		return nil
	}
	s.compact = ""
	return s.add(thread.Message{Role: thread.Compaction, Text: "Context was compacted.", Time: s.at})
}

// last is the message to which what comes now belongs.
func (s *scanner) last(inherited bool) *thread.Message {
	if s.held == nil {
		s.held = &thread.Message{Role: thread.Assistant, Time: s.at, Inherited: inherited}
	}
	return s.held
}

func (s *scanner) add(m thread.Message) error {
	if s.detail == thread.Summary {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.facts.Messages++
	m.N = s.facts.Messages
	s.held = &m
	return nil
}

func (s *scanner) flush() error {
	m := s.held
	s.held = nil
	if m == nil || m.N == 0 && len(m.Tools) == 0 || s.emit == nil {
		return nil
	}
	s.emitted = true
	return s.emit(*m)
}

func (s *scanner) saw(ms int64) {
	if t := clock(ms); t.After(s.facts.Last) {
		s.facts.Last = t
	}
}

// finish returns the facts once all messages were read.
func (s *scanner) finish() error {
	if err := s.compacted(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
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
			if text := strings.TrimSpace(p.Get("text").Text()); text != "" && !p.Get("synthetic").True() && !p.Get("ignored").True() {
				c.texts = append(c.texts, text)
			}
		case "reasoning":
			if text := strings.TrimSpace(p.Get("text").Text()); text != "" {
				c.texts = append(c.texts, text)
			}
		case "file":
			if name := or(p.Get("filename").Text(), p.Get("mime").Text()); role == thread.User && name != "" {
				c.texts = append(c.texts, "["+name+"]")
			}
		case "subtask":
			if text := strings.TrimSpace(or(p.Get("prompt").Text(), p.Get("description").Text())); text != "" {
				c.texts = append(c.texts, text)
			}
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
	if s.detail == thread.Tools {
		call.Input = thread.Clip(string(state.Get("input")))
		call.Output = thread.Clip(or(state.Get("output").Text(), state.Get("error").Text()))
	}
	if !inherited {
		s.ledger.called(p, call)
		s.saw(state.Get("time", "start").Int())
		s.saw(state.Get("time", "end").Int())
	}
	c.calls = append(c.calls, call)
}

// model is the model that wrote a message; some versions kept it apart.
func model(v jsonl.Value) string {
	return or(v.Get("modelID").Text(), v.Get("model", "modelID").Text())
}
