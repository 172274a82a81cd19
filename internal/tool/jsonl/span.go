package jsonl

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"sync"
)

// A Span is the location of a value in a source. A file in which later lines
// modify earlier ones is read twice: once for the spans of the remaining values,
// and once for the values. Memory then holds spans, not the file.
type Span struct {
	Offset int64
	Len    int
}

// Span returns the location of part in v. Methods of this package must have
// returned part.
func (v Value) Span(part Value) Span {
	return Span{int64(cap(v) - cap(part)), len(part)}
}

// Span returns the location in the source of part of the line.
func (rd *Reader) Span(part Value) Span {
	s := rd.Line().Span(part)
	s.Offset += rd.start
	return s
}

// Read reads the value at s, into buf if that is large enough. If the source has
// been truncated, the value is incomplete. A value that is longer than MaxLine is
// shortened as by Document.
func (s Span) Read(src io.ReaderAt, buf []byte) (Value, error) {
	if s.Len > MaxLine {
		long := stream{src: io.NewSectionReader(src, s.Offset, int64(s.Len)), buf: make([]byte, chunk), val: buf}
		v, _, _ := long.value()
		return v, long.err
	}
	if cap(buf) < s.Len {
		buf = make([]byte, s.Len)
	}
	n, err := src.ReadAt(buf[:s.Len], s.Offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return Value(buf[:n]), err
}

// Spans reads values from a source and reuses its memory.
type Spans struct {
	Source io.ReaderAt
	buf    []byte
}

// Read reads the value at span. The next Read overwrites it.
func (s *Spans) Read(span Span) (Value, error) {
	v, err := span.Read(s.Source, s.buf)
	if cap(v) > cap(s.buf) {
		s.buf = v[:0]
	}
	return v, err
}

// chunks are the buffers of LinesWith, which is called for many files.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// LinesWith yields the offset of each line of src that starts with prefix, and the
// n bytes from there. It skips the first line. It only compares bytes and costs
// little more than reading.
func LinesWith(src interface {
	io.Reader
	io.ReaderAt
}, prefix []byte, n int) iter.Seq2[int64, Value] {
	head := func(at int64) Value {
		v, err := Span{Offset: at, Len: n}.Read(src, nil)
		if err != nil {
			return nil
		}
		return v
	}
	return func(yield func(int64, Value) bool) {
		pattern := append([]byte{'\n'}, prefix...)
		mem := chunks.Get().(*[chunk]byte)
		defer chunks.Put(mem)
		buf := mem[:]
		kept, base := 0, int64(0)
		for {
			n, err := src.Read(buf[kept:])
			have := buf[:kept+n]
			from := 0
			for i := bytes.Index(have, pattern); i >= 0; i = bytes.Index(have[from:], pattern) {
				from += i + 1
				if at := base + int64(from); !yield(at, head(at)) {
					return
				}
			}
			if err != nil {
				return
			}
			kept = min(len(have)-from, len(prefix))
			base += int64(len(have) - kept)
			copy(buf, have[len(have)-kept:])
		}
	}
}
