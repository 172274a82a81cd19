package gemini

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread: first all operations, for what remains of the
// conversation, then what remains.
type reader struct {
	chat chat

	seen *log // what the last Read saw; nil before
}

// maxDocument is how much of a document is read. Nothing can be said of one
// before all of it is in memory.
const maxDocument = 256 << 20

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	f, err := os.Open(r.chat.path)
	if err != nil {
		return thread.Facts{}, unreadable(r.chat.path, err)
	}
	defer f.Close()
	s := &scanner{ctx: ctx, id: r.chat.head.id}
	s.log.document = r.chat.document
	var src io.ReaderAt = f
	if r.chat.document {
		src, err = s.document(f)
	} else {
		src = io.NewSectionReader(f, r.chat.start, 1<<62-r.chat.start)
		err = s.operations(io.NewSectionReader(src, 0, 1<<62-r.chat.start))
	}
	if err != nil {
		return thread.Facts{}, err
	}
	r.seen = &s.log
	return s.finish(src, detail, emit)
}

// A scanner goes through a chat's file.
type scanner struct {
	ctx   context.Context
	id    string
	facts thread.Facts
	log   log
	n     int // the line
}

func (s *scanner) warn(format string, args ...any) {
	s.facts.Warnings = append(s.facts.Warnings, fmt.Sprintf(format, args...))
}

// document reads a chat that is one document, and returns what it read.
func (s *scanner) document(f io.Reader) (io.ReaderAt, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		s.warn("reading stopped after %d bytes: %v", len(b), err)
	}
	if len(b) > maxDocument {
		b = b[:maxDocument]
		s.warn("it is larger than %d MiB: what follows is left out", maxDocument>>20)
	}
	doc := jsonl.Value(b)
	var messages jsonl.Value
	c := doc.Members()
	for c.Next() {
		switch string(c.Name()) {
		case "messages":
			messages = c.Value()
		case "lastUpdated":
			s.log.saw(clock(c.Value()))
		}
	}
	if !c.Whole() {
		s.warn("the document is not complete: it may still be written")
	}
	bad := 0
	e := messages.Elements()
	for n := 0; e.Next(); {
		if n++; n%256 == 0 && s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		v := e.Value()
		if v.Kind() != jsonl.Object {
			bad++
			continue
		}
		s.log.message(v, doc.Span(v), n)
	}
	if bad > 0 {
		s.facts.BadLines = bad
		s.warn("%d messages are none and were left out", bad)
	}
	return bytes.NewReader(b), nil
}

// operations reads a chat that is a log, to its end or to where the file goes
// on with another.
func (s *scanner) operations(src io.Reader) error {
	rd := jsonl.NewReader(src)
	var bad []int
	for rd.Next() {
		if s.n = rd.Number(); s.n%256 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		line := rd.Line()
		if bytes.HasPrefix(line, mark) && s.over(line) {
			break
		}
		s.facts.Lines = s.n
		if rd.Cut() {
			s.warn("line %d is longer than %d MiB: what follows is left out", s.n, jsonl.MaxLine>>20)
		}
		whole := s.line(rd, line)
		switch {
		case whole, rd.Cut():
		case rd.Torn():
			s.warn("line %d, the last, is not complete: it may still be written", s.n)
		default:
			bad = append(bad, s.n)
		}
	}
	if len(bad) > 0 {
		s.facts.BadLines = len(bad)
		s.warn("%d lines are no operations and were left out, the first is line %d", len(bad), bad[0])
	}
	if err := rd.Err(); err != nil {
		s.warn("reading stopped after line %d: %v", rd.Number(), err)
	}
	return nil
}

// over reports whether line begins another thread.
func (s *scanner) over(line jsonl.Value) bool {
	id := line.Get("sessionId").Text()
	if s.id == "" {
		s.id = id
	}
	if id == s.id || id == "" || s.n == 1 {
		return false
	}
	s.warn("from line %d on its file holds thread %s", s.n, id)
	return true
}

// line applies the operations of a line, of which there is one, unless a writer
// glued two. It reports whether the line is nothing else.
func (s *scanner) line(rd *jsonl.Reader, line jsonl.Value) bool {
	for len(line) > 0 {
		var set, rewind jsonl.Value
		message := false
		c := line.Members()
		for c.Next() {
			switch string(c.Name()) {
			case "$set":
				set = c.Value()
			case "$rewindTo":
				rewind = c.Value()
			case "type":
				message = c.Value().Kind() == jsonl.String
			case "lastUpdated":
				s.log.saw(clock(c.Value()))
			}
		}
		switch {
		case !c.Whole() && !rd.Cut():
			return false
		case set != nil:
			s.set(rd, set)
		case rewind.Kind() == jsonl.String:
			if id := rewind.Text(); !s.log.rewind(id) {
				s.warn("line %d goes back to message %s, which is not in the conversation: nothing is left of it", s.n, id)
			}
		case message:
			end := len(line) - len(c.Rest())
			s.log.message(line, rd.Span(line[:end]), s.n)
		}
		line = c.Rest()
	}
	return true
}

// set applies a $set. A list of messages stands for all before it.
func (s *scanner) set(rd *jsonl.Reader, v jsonl.Value) {
	for c := v.Members(); c.Next(); {
		switch string(c.Name()) {
		case "messages":
			if c.Value().Kind() != jsonl.Array {
				continue
			}
			s.log.clear(0)
			for e := c.Value().Elements(); e.Next(); {
				s.log.message(e.Value(), rd.Span(e.Value()), s.n)
			}
		case "lastUpdated":
			s.log.saw(clock(c.Value()))
		case "sessionId":
			if id := c.Value().Text(); id != s.id && id != "" {
				s.warn("line %d says that its id is %s", s.n, id)
			}
		}
	}
}

// finish reads what remains of the conversation and returns the facts.
func (s *scanner) finish(src io.ReaderAt, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	t := &timeline{src: src, detail: detail, emit: emit}
	for n, i := range s.log.order {
		s.facts.ToolCalls += s.log.records[i].calls
		if detail == thread.Summary {
			continue
		}
		if n%256 == 0 && s.ctx.Err() != nil {
			return thread.Facts{}, s.ctx.Err()
		}
		if err := t.add(s.log.records[i]); err != nil {
			return thread.Facts{}, err
		}
	}
	if err := t.flush(); err != nil {
		return thread.Facts{}, err
	}
	s.facts.Messages = t.n
	s.facts.State = s.log.state(src)
	s.facts.Usage = s.log.billed()
	if s.facts.BadLines > 0 && s.facts.Usage.Completeness == thread.Exact {
		s.facts.Usage.Completeness, s.facts.Usage.Reason = thread.LowerBound, fmt.Sprintf("%d lines could not be read", s.facts.BadLines)
	}
	s.facts.Last = s.log.last
	return s.facts, nil
}
