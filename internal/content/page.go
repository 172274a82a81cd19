package content

import (
	"bytes"
	"errors"
	"io"

	"github.com/agent-handoff/handoff"
)

// A Span selects a part of a body, in lines or in bytes. The first has offset 0.
type Span struct {
	Offset int64
	Limit  int64 // 0 for everything after Offset
	Bytes  bool  // Offset and Limit are in bytes, not lines
}

// A Page describes a part that was copied, in the unit of its span.
type Page struct {
	Next  int64 // the offset of the next page, 0 if this is the last
	Total int64 // the size of the body
}

// CopyPage writes the part of a body that a span selects. Lines include their
// newline, so that the pages of a body concatenate to its bytes. Its kind is
// Invalid.
func CopyPage(w io.Writer, r io.ReadSeeker, s Span) (Page, error) {
	if s.Offset < 0 || s.Limit < 0 {
		return Page{}, &handoff.Error{Op: "read", Kind: handoff.Invalid, Err: errors.New("offset and limit must not be negative"),
			Hint: handoff.Advice("offsets start at 0, and a limit of 0 selects everything after the offset")}
	}
	if s.Bytes {
		return copyBytes(w, r, s)
	}
	return copyLines(w, r, s)
}

func copyBytes(w io.Writer, r io.ReadSeeker, s Span) (Page, error) {
	total, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return Page{}, err
	}
	first := min(s.Offset, total)
	n := total - first
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	if _, err := r.Seek(first, io.SeekStart); err != nil {
		return Page{}, err
	}
	_, err = io.CopyN(w, r, n)
	return s.page(first+n, total), err
}

func copyLines(w io.Writer, r io.Reader, s Span) (Page, error) {
	buf := make([]byte, 64<<10)
	line, open := int64(0), false // open: the last line has no newline so far
	for {
		n, err := r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, ends := rest, bytes.IndexByte(rest, '\n')
			if ends >= 0 {
				part = rest[:ends+1]
			}
			rest = rest[len(part):]
			if s.contains(line) {
				if _, err := w.Write(part); err != nil {
					return Page{}, err
				}
			}
			if open = ends < 0; !open {
				line++
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Page{}, err
		}
	}
	if open {
		line++
	}
	if s.Limit == 0 {
		return s.page(line, line), nil
	}
	return s.page(s.Offset+s.Limit, line), nil
}

func (s Span) contains(n int64) bool { return n >= s.Offset && (s.Limit == 0 || n-s.Offset < s.Limit) }

func (s Span) page(end, total int64) Page {
	if end < 0 || end >= total {
		end = 0
	}
	return Page{Next: end, Total: total}
}
