package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// A Document is one JSON object that may be larger than memory. It contains a
// list, whose elements are read one by one. Values that are longer than MaxLine
// are shortened: their structure stays, and their long strings are cut.
type Document struct {
	List    string                         // the name of the member with the list
	Member  func(name string, v Value)     // is called with each other member
	Element func(v Value, e Element) error // is called with each element of the list
	stream
}

// An Element is the position of an element of a list.
type Element struct {
	Span
	N     int  // counted from 1
	Short bool // the value was shortened
}

// Read reads the document from src. Values are overwritten by the next call of
// Member or Element. complete reports whether the document has its closing
// bracket; of an incomplete one, the last value may be incomplete. The error is
// one of Element, of ctx, or of src.
func (d *Document) Read(ctx context.Context, src io.Reader) (complete bool, err error) {
	d.stream = stream{ctx: ctx, src: src, buf: make([]byte, chunk)}
	d.mark()
	if d.next() == '{' {
		d.r++
		complete, err = d.members()
	}
	if err == nil {
		err = d.err
	}
	return complete && err == nil, err
}

// members reads the members of the object.
func (d *Document) members() (complete bool, err error) {
	for listed := false; ; {
		switch d.separator() {
		case '}', ']':
			d.r++
			return true, nil
		case '"':
		default:
			return false, nil
		}
		if key, _, ok := d.value(); !ok || d.next() != ':' {
			return false, nil
		} else if d.r++; !listed && key.Is(d.List) && d.next() == '[' {
			d.r++
			listed = true
			if complete, err := d.elements(); !complete || err != nil {
				return false, err
			}
		} else {
			name := key.Text()
			if d.between() {
				return false, nil
			}
			v, _, ok := d.value()
			if d.Member(name, v); !ok {
				return false, nil
			}
		}
	}
}

// elements reads the elements of the list.
func (d *Document) elements() (complete bool, err error) {
	for n := 1; ; n++ {
		switch c := d.separator(); {
		case c == '}', c == ']':
			d.r++
			return true, nil
		case d.between():
			return false, nil
		}
		start := d.offset()
		v, short, ok := d.value()
		if err := d.Element(v, Element{Span{start, int(d.offset() - start)}, n, short}); err != nil || !ok {
			return false, err
		}
	}
}

// A stream reads values from a source.
type stream struct {
	ctx  context.Context
	src  io.Reader
	buf  []byte
	r, w int   // buf[r:w] has been read and not used
	base int64 // offset of buf[0] in the source
	err  error // that stopped reading, nil at the end of the source
	end  bool

	val   []byte
	short bool
}

func (s *stream) offset() int64 { return s.base + int64(s.r) }

// more reads into the used part of buf and reports whether there is a byte.
func (s *stream) more() bool {
	for s.r == s.w && !s.end {
		if s.ctx != nil && s.ctx.Err() != nil {
			s.err, s.end = s.ctx.Err(), true
			break
		}
		s.base += int64(s.w)
		n, err := s.src.Read(s.buf)
		s.r, s.w = 0, n
		if err != nil {
			s.end = true
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
		}
	}
	return s.r < s.w
}

// mark skips a byte order mark at the start of the source.
func (s *stream) mark() {
	if s.more() && bytes.HasPrefix(s.buf[:s.w], byteOrderMark) {
		s.r += len(byteOrderMark)
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (s *stream) next() byte {
	for s.more() {
		if c := s.buf[s.r]; class[c]&white == 0 {
			return c
		}
		s.r++
	}
	return 0
}

// separator skips white space and commas and returns the byte after them.
func (s *stream) separator() byte {
	for s.next() == ',' {
		s.r++
	}
	return s.next()
}

// between reports whether no value starts at the next byte.
func (s *stream) between() bool {
	c := s.next()
	return c == 0 || class[c]&between != 0
}

// maxShort is the length of a shortened value whose structure alone is longer
// than MaxLine. It is then incomplete.
const maxShort = 2 * MaxLine

// value reads the value that starts at the next byte. short reports whether it was
// shortened, ok whether its end was found.
func (s *stream) value() (v Value, short, ok bool) {
	s.val, s.short = s.val[:0], false
	for depth := 0; s.more(); {
		c := s.buf[s.r]
		switch {
		case c == '"':
			ok = s.string()
		case c == '{', c == '[':
			depth++
			s.take(c)
		case c == '}', c == ']':
			depth--
			s.take(c)
			ok = true
		case depth == 0:
			s.literal()
			ok = true
		default:
			s.take(c)
			continue
		}
		if depth <= 0 && ok {
			return s.val, s.short, true
		}
	}
	return s.val, s.short, false
}

func (s *stream) take(c byte) {
	s.r++
	s.put(maxShort, c)
}

// put appends bytes to the value while it is shorter than limit.
func (s *stream) put(limit int, b ...byte) {
	if len(s.val)+len(b) > limit {
		s.short = true
		return
	}
	s.val = append(s.val, b...)
}

func (s *stream) literal() {
	for s.more() && class[s.buf[s.r]]&ends == 0 {
		s.take(s.buf[s.r])
	}
}

// string reads a string and reports whether it has a closing quote.
func (s *stream) string() bool {
	const least = 256 // bytes that are kept of every string, which may be a name
	s.take('"')
	limit := min(max(MaxLine, len(s.val)+least), maxShort)
	for base, quote := int64(-1), 0; s.more(); {
		if base != s.base || quote < s.r {
			base, quote = s.base, s.w
			if n := bytes.IndexByte(s.buf[s.r:s.w], '"'); n >= 0 {
				quote = s.r + n
			}
		}
		part := s.buf[s.r:quote]
		slash := bytes.IndexByte(part, '\\')
		if slash >= 0 {
			part = part[:slash]
		}
		room := max(0, limit-len(s.val))
		s.short = s.short || len(part) > room
		s.val = append(s.val, part[:min(len(part), room)]...)
		s.r += len(part)
		switch {
		case slash >= 0:
			s.escape(limit)
		case quote < s.w:
			s.take('"')
			return true
		}
	}
	return false
}

// escape reads an escape sequence. It is kept or dropped as a whole.
func (s *stream) escape(limit int) {
	var seq [6]byte
	n := 0
	for want := 2; n < want && s.more(); n++ {
		c := s.buf[s.r]
		if n >= 2 && !isHex(c) {
			break
		}
		seq[n] = c
		s.r++
		if n == 1 && c == 'u' {
			want = len(seq)
		}
	}
	s.put(limit, seq[:n]...)
}
