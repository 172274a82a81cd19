package gemini

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread in two passes: the operations determine which messages
// remain, and then these are read.
type reader struct {
	chat chat

	log *log // of the last Read; nil before
}

// maxSnapshot is the size up to which a document is in memory while it is read, so
// that the tool does not change it between the two passes.
const maxSnapshot = 8 << 20

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	f, err := thread.OpenFile(r.chat.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer f.Close()
	s := &scanner{ctx: ctx, id: cmp.Or(r.chat.head.id, r.chat.asked),
		log: log{document: r.chat.document, byID: map[string]int{}}}
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
func (s *scanner) document(f *thread.File) error {
	src := f.SectionReader
	if f.Size() <= maxSnapshot {
		b, err := io.ReadAll(f)
		if err != nil {
			s.facts.Warn("reading stopped after %d bytes: %v", len(b), err)
		}
		src = io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
	}
	s.timeline.spans.Source = src
	doc := jsonl.Document{List: "messages"}
	doc.Member = func(name string, v jsonl.Value) {
		if name == "lastUpdated" {
			s.log.saw(v.Time())
		}
	}
	doc.Element = func(v jsonl.Value, e jsonl.Element) error {
		if e.Short {
			s.facts.Warn("message %d is longer than %d MiB: shortened", e.N, jsonl.MaxLine>>20)
		}
		if v.Kind() == jsonl.Object {
			s.log.message(v, e.Span, e.N)
		} else {
			s.facts.BadLines++
		}
		return nil
	}
	complete, err := doc.Read(s.ctx, src)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err != nil {
		s.facts.Warn("reading stopped: %v", err)
	}
	if s.facts.Partial = !complete; s.facts.Partial {
		s.facts.Warn("the document is incomplete: it may still be written")
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
	s.facts.Lines, s.facts.BadLines, s.facts.Partial = report.Lines, report.Bad, report.Partial
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
				s.facts.Warn("line %d rewinds to message %s, which is not in the thread: all messages are removed",
					rd.Number(), id)
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
			s.log.replace(rd.Number(), func() {
				for e := c.Value().Elements(); e.Next(); {
					s.log.message(e.Value(), rd.Span(e.Value()), rd.Number())
				}
			})
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
	f.Messages, f.State, f.Last = s.timeline.Messages, s.log.state(&s.timeline.spans), s.log.last
	s.log.finishUsage(f)
	return s.facts, nil
}
