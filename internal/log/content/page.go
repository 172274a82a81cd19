package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
)

// CopyPage writes the part of a body that a span selects. Lines include their
// newline, so that the pages of a body concatenate to its bytes. Its kind is
// Invalid.
func CopyPage(w io.Writer, r io.ReadSeeker, s storage.Span) (storage.Page, error) {
	if s.Offset < 0 || s.Limit < 0 {
		return storage.Page{}, handoff.E("read", "", handoff.Invalid,
			errors.New("offset and limit must not be negative"),
			handoff.Advice("offsets start at 0, and a limit of 0 selects everything after the offset"))
	}
	if s.Bytes {
		return copyBytes(w, r, s)
	}
	return copyLines(w, r, s)
}

func copyBytes(w io.Writer, r io.ReadSeeker, s storage.Span) (storage.Page, error) {
	total, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return storage.Page{}, err
	}
	first := min(s.Offset, total)
	n := total - first
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	if _, err := r.Seek(first, io.SeekStart); err != nil {
		return storage.Page{}, err
	}
	_, err = io.CopyN(w, r, n)
	return pageOf(s, first+n, total), err
}

func copyLines(w io.Writer, r io.Reader, s storage.Span) (storage.Page, error) {
	lines := NewLines(w, s)
	if _, err := io.Copy(lines, r); err != nil {
		return storage.Page{}, err
	}
	return lines.Page()
}

// Lines is a writer that passes on the lines of a span and counts all of them.
type Lines struct {
	to   io.Writer
	span storage.Span
	line int64 // complete lines so far
	open bool  // the last line has no newline so far

	size    int64  // bytes passed on
	part    []byte // of the last line, if the span has a Size
	tooLong bool   // the first line of the span exceeds its Size
	full    int64  // the first line that Size left out, 0 for none
}

// NewLines returns a writer that passes on the lines of s, which is in lines.
func NewLines(to io.Writer, s storage.Span) *Lines { return &Lines{to: to, span: s} }

func (l *Lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, ends := rest, bytes.IndexByte(rest, '\n')
		if ends >= 0 {
			part = rest[:ends+1]
		}
		rest = rest[len(part):]
		if spanContains(l.span, l.line) && l.full == 0 {
			if err := l.pass(part, ends >= 0); err != nil {
				return 0, err
			}
		}
		if l.open = ends < 0; !l.open {
			l.line++
		}
	}
	return len(p), nil
}

// pass writes a part of a line. With a Size it writes complete lines only.
func (l *Lines) pass(part []byte, complete bool) error {
	if l.span.Size == 0 {
		_, err := l.to.Write(part)
		return err
	}
	if l.size+int64(len(l.part)+len(part)) > l.span.Size {
		l.full = max(l.line, 1)
		l.tooLong = l.line == l.span.Offset
		l.part = nil
		return nil
	}
	if l.part = append(l.part, part...); !complete {
		return nil
	}
	return l.flush()
}

func (l *Lines) flush() error {
	n, err := l.to.Write(l.part)
	l.size, l.part = l.size+int64(n), l.part[:0]
	return err
}

// Page ends the last line and returns what was passed on. Its kind is Invalid if
// the first line alone exceeds the span's Size.
func (l *Lines) Page() (storage.Page, error) {
	if l.tooLong {
		return storage.Page{}, handoff.E("read", "", handoff.Invalid,
			fmt.Errorf("line %d has more than %d bytes", l.span.Offset, l.span.Size),
			handoff.Advice("read it by bytes"))
	}
	total, end := l.line, l.span.Offset+l.span.Limit
	if l.open {
		total++
	}
	if l.span.Limit == 0 {
		end = total
	}
	if l.full > 0 {
		end = l.full
	}
	return pageOf(l.span, end, total), l.flush()
}

func spanContains(s storage.Span, n int64) bool {
	return n >= s.Offset && (s.Limit == 0 || n-s.Offset < s.Limit)
}

func pageOf(s storage.Span, end, total int64) storage.Page {
	if end < 0 || end >= total {
		end = 0
	}
	return storage.Page{Next: end, Total: total}
}

// CopyContent is CopyPage for the content of an artifact. A directory has no
// pages: its kind is Invalid.
func CopyContent(w io.Writer, c handoff.Content, s storage.Span) (storage.Page, error) {
	if c.Artifact.IsDirectory() {
		return storage.Page{}, handoff.E("read", c.Artifact.ID, handoff.Invalid, errors.New("is a directory"),
			handoff.Suggest("unpack it", handoff.ActionReadTo, c.Artifact.ID, "DIR"))
	}
	return CopyPage(w, c, s)
}

// PageOf returns the part of the content of an artifact that a span selects. Its
// kind is that of CopyContent.
func PageOf(c handoff.Content, s storage.Span) (storage.BodyPage, error) {
	var part bytes.Buffer
	page, err := CopyContent(&part, c, s)
	if err != nil {
		return storage.BodyPage{}, err
	}
	b := storage.BodyPage{ID: c.Artifact.ID, Path: c.Artifact.Path, File: c.Artifact.File, Target: c.Artifact.Target,
		Kept: c.Kept,
		Unit: "lines", Offset: s.Offset, Next: page.Next, Total: page.Total,
		Notices: c.Artifact.Notices()}
	if s.Bytes {
		b.Unit = "bytes"
	}
	if text := part.String(); utf8.ValidString(text) && bytes.IndexByte(part.Bytes(), 0) < 0 {
		b.Content = &text
	} else {
		b.Base64 = part.Bytes()
	}
	return b, nil
}
