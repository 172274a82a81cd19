package engine

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Source passes the records of a transcript to use, in order, until use returns
// false. n is the number of a record for people: a line, or a row. The source sets
// Lines, BadLines and Partial of the facts of the scan and adds warnings. The error is
// one of ctx, or that the transcript can't be opened.
type Source func(ctx context.Context, s *Scan, use func(n int, record jsonl.Value) bool) error

// A File is a transcript of lines with one JSON object each. Several objects on one
// line are several records.
type File struct {
	Path  string
	Start int64 // offset of the first line of the thread

	// Unpack returns the content of the file, nil if the file is plain. It is then
	// neither resumed nor read from its end, and no record of it is kept.
	Unpack func(*thread.File) (io.ReadCloser, error)

	// Loose is set if the members of a record that is damaged at its end are used.
	Loose bool
}

// Lines is the source of a file of lines from its start.
func Lines(path string) Source { return File{Path: path}.Lines }

// tail is how much of the end of a transcript is read for its state.
const tail = 64 << 10

// open opens the file where the scan begins.
func (f File) open(s *Scan) (io.Reader, error) {
	if len(s.others) > 0 {
		paths := append([]string{f.Path}, s.others...)
		slices.Reverse(paths)
		all, err := merged(paths)
		if err != nil {
			return nil, err
		}
		s.close, s.source = append(s.close, all.Close), all
		return io.NewSectionReader(all, 0, 1<<62), nil
	}
	src, err := thread.OpenFile(f.Path)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, src.Close)
	switch {
	case f.Unpack != nil:
		unpacked, err := f.Unpack(src)
		if err == nil {
			s.close = append(s.close, unpacked.Close)
		}
		return unpacked, err
	case s.Tail:
		return io.NewSectionReader(src, max(f.Start, src.Size()-tail), tail), nil
	case s.point.offset > 0:
		_, err = src.Seek(s.point.offset, io.SeekStart)
		return src, err
	}
	section := io.NewSectionReader(src, f.Start, 1<<62-f.Start)
	s.source = section
	return section, nil
}

// Lines is a Source.
func (f File) Lines(ctx context.Context, s *Scan, use func(int, jsonl.Value) bool) error {
	src, err := f.open(s)
	if err != nil {
		return err
	}
	rd := jsonl.Borrow(src)
	defer rd.Return()
	rd.Continue(s.point.lines, s.point.offset)
	s.locate = rd.Span
	facts := &s.Facts
	report, err := rd.Each(ctx, func(line jsonl.Value) (bool, error) {
		if s.Tail && rd.Number() == 1 {
			return true, nil
		}
		complete, more := f.line(s, rd, line, use)
		if !more {
			return true, jsonl.ErrStop
		}
		s.point.after(s, rd, complete)
		return complete, nil
	})
	facts.Lines, facts.BadLines = report.Lines, report.Bad
	facts.Partial = facts.Partial || report.Partial
	facts.Warnings = append(facts.Warnings, report.Warnings...)
	return err
}

// line passes on the records of a line. complete reports whether it consists of
// complete records, more whether use wants more.
func (f File) line(s *Scan, rd *jsonl.Reader, line jsonl.Value, use func(int, jsonl.Value) bool) (complete, more bool) {
	for len(line) > 0 {
		c := s.parse(line)
		damaged := !c.Closed() && !rd.Cut()
		if !damaged || f.Loose {
			if !use(rd.Number(), line[:len(line)-len(c.Rest())]) {
				return true, false
			}
		}
		if damaged {
			s.Facts.Partial = s.Facts.Partial || rd.Torn()
			return false, true
		}
		line = c.Rest()
	}
	return true, true
}

// A Document is a transcript that is one JSON object, which is rewritten with every
// change. The elements of its list are read one by one, and of a truncated file as many
// as possible.
type Document struct {
	Path   string
	List   string                               // the member with the list; "" if the document is the list
	Member func(name string, value jsonl.Value) // is called with the other members; nil to ignore them
}

// Array is the source of a file that is one JSON array.
func Array(path string) Source { return Document{Path: path}.Elements }

// maxSnapshot is the size up to which a document is in memory while it is read, so
// that the tool does not change it between two passes.
const maxSnapshot = 8 << 20

// Elements is a Source.
func (d Document) Elements(ctx context.Context, s *Scan, use func(int, jsonl.Value) bool) error {
	f, err := thread.OpenFile(d.Path)
	if err != nil {
		return err
	}
	s.close = append(s.close, f.Close)
	src := f.SectionReader
	if f.Size() <= maxSnapshot {
		b, err := io.ReadAll(f)
		if err != nil {
			s.Facts.Warn("reading stopped after %d bytes: %v", len(b), err)
		}
		src = io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
	}
	s.source = src
	in, before := io.Reader(src), int64(0)
	list := d.List
	if list == "" { // a jsonl.Document is an object, so the array becomes its only member
		const start = `{"list":`
		in, before = io.MultiReader(strings.NewReader(start), src, strings.NewReader("}")), int64(len(start))
		list = "list"
	}
	return d.read(ctx, s, in, jsonl.Document{List: list, Element: func(v jsonl.Value, e jsonl.Element) error {
		s.Facts.Lines = e.N
		if e.Short {
			s.Facts.Warn("message %d is longer than %d MiB: shortened", e.N, jsonl.MaxLine>>20)
		}
		if v.Kind() != jsonl.Object {
			s.Facts.BadLines++
			return nil
		}
		s.locate = func(part jsonl.Value) jsonl.Span {
			if len(part) == len(v) {
				return jsonl.Span{Offset: e.Offset - before, Len: e.Len}
			}
			at := v.Span(part)
			at.Offset += e.Offset - before
			return at
		}
		s.parse(v)
		if !use(e.N, v) {
			return jsonl.ErrStop
		}
		return nil
	}})
}

func (d Document) read(ctx context.Context, s *Scan, src io.Reader, doc jsonl.Document) error {
	facts := &s.Facts
	doc.Member = func(name string, v jsonl.Value) {
		if d.List == "" {
			facts.Lines = min(len(v), 1) // it is not an array
		} else if d.Member != nil {
			d.Member(name, v)
		}
	}
	complete, err := doc.Read(ctx, src)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == jsonl.ErrStop:
		return nil
	case err != nil:
		facts.Warn("reading stopped: %v", err)
	}
	if facts.Partial = !complete; facts.Partial {
		facts.Warn("the document is incomplete: it may still be written")
	}
	if facts.BadLines > 0 {
		facts.Warn("skipped %d malformed messages", facts.BadLines)
	}
	return nil
}

// Within is the source of the elements of a list that is inside a record of another
// thread: the list at path in the value at span.
func (f File) Within(span jsonl.Span, path ...string) Source {
	return func(ctx context.Context, s *Scan, use func(int, jsonl.Value) bool) error {
		file, err := thread.OpenFile(f.Path)
		if err != nil {
			return err
		}
		s.close = append(s.close, file.Close)
		v, err := span.Read(io.NewSectionReader(file, f.Start, 1<<62-f.Start), nil)
		if err != nil {
			return err
		}
		n := 0
		for c := v.Get(path...).Elements(); c.Next(); {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			n++
			s.parse(c.Value())
			if !use(n, c.Value()) {
				return nil
			}
		}
		return nil
	}
}
