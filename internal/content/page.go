package content

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// A Span is a part of a body, counted in lines from 0, or in bytes.
type Span struct {
	Offset int64
	Limit  int64 // 0 for all that follows
	Bytes  bool
}

// A Page says which part of a body a copy gave.
type Page struct {
	Next  int64 // where the next page begins, 0 where this is the last
	Total int64 // what the body has, in the span's unit
}

// CopyPage writes the part of a body that a span selects. A line ends with its
// newline, so the pages of a body make up its bytes. Its kind is Invalid.
func CopyPage(w io.Writer, r io.ReadSeeker, s Span) (Page, error) {
	for _, n := range []int64{s.Offset, s.Limit} {
		if n < 0 {
			return Page{}, &handoff.Error{Op: "read", Name: strconv.FormatInt(n, 10), Kind: handoff.Invalid, Err: errors.New("is negative"),
				Hint: handoff.Advice("--offset counts from 0, and --limit 0 is all that follows")}
		}
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
	line, open := int64(0), false // open: a line has begun
	for {
		n, err := r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, ends := rest, bytes.IndexByte(rest, '\n')
			if ends >= 0 {
				part = rest[:ends+1]
			}
			rest = rest[len(part):]
			if s.holds(line) {
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

func (s Span) holds(n int64) bool { return n >= s.Offset && (s.Limit == 0 || n-s.Offset < s.Limit) }

func (s Span) page(end, total int64) Page {
	if end < 0 || end >= total {
		end = 0
	}
	return Page{Next: end, Total: total}
}
