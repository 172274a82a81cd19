package gemini

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread in two passes: the operations determine which messages
// remain, and then these are read.
type reader struct {
	chat chat

	log *log // of the last Read; nil before
}

// maxDocument is how much of a document is read. It has to be in memory at once.
const maxDocument = 256 << 20

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	f, err := thread.OpenFile(r.chat.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer f.Close()
	s := &scanner{ctx: ctx, id: cmp.Or(r.chat.head.id, r.chat.asked), log: log{document: r.chat.document, byID: map[string]int{}}}
	s.timeline.Detail, s.timeline.Emit = detail, emit
	if r.chat.document {
		err = s.document(f)
	} else {
		src := io.NewSectionReader(f, r.chat.start, 1<<62-r.chat.start)
		s.timeline.spans.Source = src
		err = s.operations(src)
	}
	if err != nil {
		return thread.Facts{}, err
	}
	r.log = &s.log
	return s.finish()
}

// A scanner reads the file of a chat.
type scanner struct {
	ctx      context.Context
	id       string
	facts    thread.Facts
	log      log
	timeline timeline
}

// document reads a chat that is one document.
func (s *scanner) document(f *os.File) error {
	size := int64(maxDocument)
	if info, err := f.Stat(); err == nil && info.Size() > size {
		s.facts.Warn("the file is larger than %d MiB: truncated", maxDocument>>20)
	} else if err == nil {
		size = info.Size()
	}
	b := make([]byte, size)
	n, err := io.ReadFull(f, b)
	if err != nil && size > 0 {
		s.facts.Warn("reading stopped after %d bytes: %v", n, err)
	}
	doc := jsonl.Value(b[:n])
	s.timeline.spans.Source = bytes.NewReader(doc)
	var messages jsonl.Value
	c := doc.Members()
	for c.Next() {
		switch string(c.Name()) {
		case "messages":
			messages = c.Value()
		case "lastUpdated":
			s.log.saw(c.Value().Time())
		}
	}
	if !c.Closed() {
		s.facts.Warn("the document is incomplete: it may still be written")
	}
	e := messages.Elements()
	for n := 1; e.Next(); n++ {
		if n%256 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if v := e.Value(); v.Kind() == jsonl.Object {
			s.log.message(v, doc.Span(v), n)
		} else {
			s.facts.BadLines++
		}
	}
	if s.facts.BadLines > 0 {
		s.facts.Warn("skipped %d malformed messages", s.facts.BadLines)
	}
	return nil
}

// operations reads a chat that is a log, up to the next thread in the file.
func (s *scanner) operations(src io.Reader) error {
	rd := jsonl.NewReader(src)
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		if bytes.HasPrefix(line, mark) && s.startsThread(rd.Number(), line) {
			return true, jsonl.ErrStop
		}
		return s.line(rd, line), nil
	})
	s.facts.Lines, s.facts.BadLines = report.Lines, report.Bad
	s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	return err
}

// startsThread reports whether a line starts another thread.
func (s *scanner) startsThread(n int, line jsonl.Value) bool {
	id := line.Get("sessionId").Text()
	if s.id == "" {
		s.id = id
	}
	if id == s.id || id == "" || n == 1 {
		return false
	}
	s.facts.Warn("the file contains another thread from line %d: %s", n, id)
	return true
}

// line applies the operation of a line, or several operations written on one line.
// It reports whether the line consists of complete operations.
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
				s.log.saw(c.Value().Time())
			}
		}
		switch {
		case !c.Closed() && !rd.Cut():
			return false
		case set != nil:
			s.set(rd, set)
		case rewind.Kind() == jsonl.String:
			if id := rewind.Text(); !s.log.rewind(id) {
				s.facts.Warn("line %d rewinds to message %s, which is not in the conversation: all messages are removed", rd.Number(), id)
			}
		case message:
			end := len(line) - len(c.Rest())
			s.log.message(line, rd.Span(line[:end]), rd.Number())
		}
		line = c.Rest()
	}
	return true
}

// set applies a $set. A list of messages replaces all earlier ones.
func (s *scanner) set(rd *jsonl.Reader, v jsonl.Value) {
	for c := v.Members(); c.Next(); {
		switch string(c.Name()) {
		case "messages":
			if c.Value().Kind() != jsonl.Array {
				continue
			}
			s.log.clear(0)
			for e := c.Value().Elements(); e.Next(); {
				s.log.message(e.Value(), rd.Span(e.Value()), rd.Number())
			}
		case "lastUpdated":
			s.log.saw(c.Value().Time())
		case "sessionId":
			if id := c.Value().Text(); id != s.id && id != "" {
				s.facts.Warn("line %d changes the ID to %s", rd.Number(), id)
			}
		}
	}
}

// finish reads the remaining messages and returns the facts.
func (s *scanner) finish() (thread.Facts, error) {
	f := &s.facts
	for n, i := range s.log.order {
		f.ToolCalls += s.log.records[i].calls
		if s.timeline.Detail == thread.Summary {
			continue
		}
		if n%256 == 0 && s.ctx.Err() != nil {
			return thread.Facts{}, s.ctx.Err()
		}
		if err := s.timeline.add(s.log.records[i]); err != nil {
			return thread.Facts{}, err
		}
	}
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	f.Messages, f.State, f.Usage, f.Last = s.timeline.Messages, s.log.state(&s.timeline.spans), s.log.usage(f.BadLines), s.log.last
	return s.facts, nil
}
